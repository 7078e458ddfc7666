// Attends whose queries see the keys from their own on, as the second half of a bidirectional attention does.

polyattn.attention @plain(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c anticausal normalize <none>
      {grouping = #polyattn.grouping<block>} : [8], [8], [4]
  return %o : [4]
}

polyattn.attention @power(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %w: tensor<8x8xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %weight = read %w : tensor<8x8xf32> -> 8x8
  %a = project %x, %weight : [8], 8x8
  %b = project %y, %weight : [8], 8x8
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %aa = power 2 %a {symmetric} : [8]
  %bb = power 2 %b {symmetric} : [8]
  %o = attend query %aa key %bb value %c anticausal normalize <sum, eps = 1.0e-2>
      {score_scale = 0.125, grouping = #polyattn.grouping<block>} : sym 2 [8], sym 2 [8], [4]
  return %o : [4]
}

polyattn.attention @local(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %a = elu_plus_one %x : [8]
  %b = elu_plus_one %y : [8]
  %xx = power 2 %x {symmetric} : [8]
  %yy = power 2 %y {symmetric} : [8]
  %o = attend query %a key %b value %c local %xx, %yy anticausal normalize <sum, eps = 1.0e-2>
      {block = 32, grouping = #polyattn.grouping<block>} : [8], [8], [4], sym 2 [8], sym 2 [8]
  return %o : [4]
}

// Both directions, each with a denominator of its own.
polyattn.attention @bidirectional(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %a = elu_plus_one %x : [8]
  %b = elu_plus_one %y : [8]
  %before = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-2>
      {grouping = #polyattn.grouping<block>} : [8], [8], [4]
  %after = attend query %a key %b value %c anticausal normalize <sum, eps = 1.0e-2>
      {grouping = #polyattn.grouping<block>} : [8], [8], [4]
  %o = add %before, %after : [4], [4]
  return %o : [4]
}

polyattn.attention @gated(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c decay %g anticausal normalize <none>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [8], [8], [4], tensor<?x?x?xf32>
  return %o : [4]
}

polyattn.attention @query_gates(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %a = power 2 %x {symmetric} : [8]
  %b = power 2 %y {symmetric} : [8]
  %o = attend query %a key %b value %c decay %g anticausal normalize <sum, eps = 1.0e-2>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : sym 2 [8], sym 2 [8], [4], tensor<?x?x?xf32>
  return %o : [4]
}

// The state that is given stands behind the last position, the one that is left before the first.
polyattn.attention @states(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %g: tensor<?xf32>,
    %s: tensor<?x?x8x4xf32>, %z: tensor<?x?x8xf32>)
    -> (o: tensor<?x?x?x4xf32>, s_out: tensor<?x?x8x4xf32>, z_out: tensor<?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %a = elu_plus_one %x : [8]
  %b = elu_plus_one %y : [8]
  %o, %s_out, %z_out = attend query %a key %b value %c decay %g initial %s initial_normalizer %z
      anticausal normalize <sum, eps = 1.0e-2>
      {final_state, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [8], [8], [4], tensor<?xf32>, tensor<?x?x8x4xf32>, tensor<?x?x8xf32>
  return %o, %s_out, %z_out : [4], tensor<?x?x8x4xf32>, tensor<?x?x8xf32>
}

// Only the state that is left has a gradient in it: none is given.
polyattn.attention @left(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>, s_out: tensor<?x?x8x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o, %s_out = attend query %a key %b value %c decay %g anticausal normalize <none>
      {final_state, gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [8], [8], [4], tensor<?x?x?xf32>
  return %o, %s_out : [4], tensor<?x?x8x4xf32>
}
