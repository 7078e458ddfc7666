// A decay that several attends take: its gradient is the sum of those from each.
polyattn.attention @gates(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
                          %log_decay: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %a = softmax %x {groups = 1} : [8]
  %b = softmax %y {groups = 1} : [8]
  %m = attend query %a key %b value %z decay %log_decay causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [8], [8], [6], tensor<?x?x?xf32>
  %n = attend query %x key %y value %z decay %log_decay causal normalize <none>
      {grouping = #polyattn.grouping<block>, score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x?xf32>
  %o = add %m, %n : [6], [6]
  return %o : [6]
}

// One number for each head, of attends in both directions of time.
polyattn.attention @heads(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
                          %log_decay: tensor<?xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %xx = power 2 %x {symmetric} : [8]
  %yy = power 2 %y {symmetric} : [8]
  %m = attend query %xx key %yy value %z decay %log_decay causal normalize <none> {score_scale = 0.1}
    : sym 2 [8], sym 2 [8], [6], tensor<?xf32>
  %n = attend query %x key %y value %z decay %log_decay anticausal normalize <none> {score_scale = 0.1}
    : [8], [8], [6], tensor<?xf32>
  %p = attend query %y key %x value %z decay %log_decay causal normalize <none> {score_scale = 0.1}
    : [8], [8], [6], tensor<?xf32>
  %o = add %m, %n, %p : [6], [6], [6]
  return %o : [6]
}

// Each with a state of its own, before and behind; one with local vectors.
polyattn.attention @states(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
                           %log_decay: tensor<?x?x?xf32>, %first: tensor<?x?x8x6xf32>,
                           %second: tensor<?x?x8x6xf32>)
    -> (o: tensor<?x?x?x6xf32>, p: tensor<?x?x?x6xf32>, last: tensor<?x?x8x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %o, %last = attend query %x key %y value %z decay %log_decay initial %first causal normalize <none>
      {grouping = #polyattn.grouping<block>, final_state, score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x?xf32>, tensor<?x?x8x6xf32>
  %a = tanh %y : [8]
  %p = attend query %x key %a value %z decay %log_decay initial %second causal normalize <none>
      {grouping = #polyattn.grouping<block>, score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x?xf32>, tensor<?x?x8x6xf32>
  return %o, %p, %last : [6], [6], tensor<?x?x8x6xf32>
}
polyattn.attention @local(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
                          %log_decay: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %a = tanh %x : [8]
  %b = tanh %y : [8]
  %m = attend query %a key %b value %z local %x, %y decay %log_decay causal normalize <none>
      {block = 16, score_scale = 0.1}
    : [8], [8], [6], [8], [8], tensor<?x?x?xf32>
  %n = attend query %x key %y value %z decay %log_decay causal normalize <none> {score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x?xf32>
  %o = add %m, %n : [6], [6]
  return %o : [6]
}
