// An initial state that several attends take: its gradient is the sum of those from each.
polyattn.attention @values(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
                           %state: tensor<?x?x8x6xf32>)
    -> (o: tensor<?x?x?x6xf32>, last: tensor<?x?x8x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %m, %last = attend query %x key %y value %z initial %state causal normalize <none>
      {grouping = #polyattn.grouping<block>, final_state, score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x8x6xf32>
  %a = tanh %y : [8]
  %n = attend query %x key %a value %z initial %state causal normalize <none>
      {grouping = #polyattn.grouping<block>, score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x8x6xf32>
  %o = add %m, %n : [6], [6]
  return %o, %last : [6], tensor<?x?x8x6xf32>
}

// With a denominator, a decay that both take, and one attend of the other direction of time.
polyattn.attention @sums(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
                         %log_decay: tensor<?x?x?xf32>, %state: tensor<?x?x8x6xf32>, %state_z: tensor<?x?x8xf32>)
    -> (o: tensor<?x?x?x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %a = softmax %x {groups = 1} : [8]
  %b = softmax %y {groups = 1} : [8]
  %m = attend query %a key %b value %z decay %log_decay initial %state initial_normalizer %state_z
      causal normalize <sum, eps = 2.0>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [8], [8], [6], tensor<?x?x?xf32>, tensor<?x?x8x6xf32>, tensor<?x?x8xf32>
  %n = attend query %a key %b value %z decay %log_decay initial %state initial_normalizer %state_z
      anticausal normalize <sum, eps = 2.0>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [8], [8], [6], tensor<?x?x?xf32>, tensor<?x?x8x6xf32>, tensor<?x?x8xf32>
  %o = add %m, %n : [6], [6]
  return %o : [6]
}

// A state of one column, which is also the sum of keys of another attend; and equal attends.
polyattn.attention @columns(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x1xf32>,
                            %state: tensor<?x?x8xf32>, %other: tensor<?x?x8xf32>)
    -> (o: tensor<?x?x?x1xf32>, p: tensor<?x?x?x1xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x1xf32> -> [1]
  %a = softmax %x {groups = 1} : [8]
  %b = softmax %y {groups = 1} : [8]
  %o = attend query %a key %b value %z initial %other initial_normalizer %state causal normalize <sum, eps = 2.0>
    : [8], [8], [1], tensor<?x?x8xf32>, tensor<?x?x8xf32>
  %p = attend query %x key %y value %z initial %state causal normalize <none> {score_scale = 0.1}
    : [8], [8], [1], tensor<?x?x8xf32>
  %r = attend query %x key %y value %z initial %state causal normalize <none> {score_scale = 0.1}
    : [8], [8], [1], tensor<?x?x8xf32>
  %s = add %p, %r : [1], [1]
  return %o, %s : [1], [1]
}

// A state of each query head.
polyattn.attention @query_heads(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
                                %log_decay: tensor<?x?x?xf32>, %state: tensor<?x?x8x6xf32>)
    -> (o: tensor<?x?x?x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %m = attend query %x key %y value %z decay %log_decay initial %state causal normalize <none>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>, score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x?xf32>, tensor<?x?x8x6xf32>
  %a = tanh %y : [8]
  %n = attend query %x key %a value %z decay %log_decay initial %state causal normalize <none>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>, score_scale = 0.1}
    : [8], [8], [6], tensor<?x?x?xf32>, tensor<?x?x8x6xf32>
  %o = add %m, %n : [6], [6]
  return %o : [6]
}
