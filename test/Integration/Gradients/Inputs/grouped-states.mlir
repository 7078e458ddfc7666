// States of key heads that serve groups of query heads: given, asked for, and both with gradients.

polyattn.attention @interleaved(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>,
    %state: tensor<?x?x12x20xf32>, %state_z: tensor<?x?x12xf32>)
    -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x12x20xf32>, final_z: tensor<?x?x12xf32>) {
  %x = read %q : tensor<?x?x?x12xf32> -> [12]
  %y = read %k : tensor<?x?x?x12xf32> -> [12]
  %a = elu_plus_one %x : [12]
  %b = elu_plus_one %y : [12]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %o:3 = attend query %a key %b value %c initial %state initial_normalizer %state_z
      causal normalize <sum, eps = 1.0e-6>
      {final_state, grouping = #polyattn.grouping<interleaved>}
    : [12], [12], [20], tensor<?x?x12x20xf32>, tensor<?x?x12xf32>
  return %o#0, %o#1, %o#2 : [20], tensor<?x?x12x20xf32>, tensor<?x?x12xf32>
}

// Features with weights, a decay for each head.
polyattn.attention @powers(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x16xf32>,
    %g: tensor<?xf32>, %state: tensor<?x?x36x16xf32>)
    -> (o: tensor<?x?x?x16xf32>, final: tensor<?x?x36x16xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %a = power 2 %x {symmetric} : [8]
  %b = power 2 %y {symmetric} : [8]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o:2 = attend query %a key %b value %c decay %g initial %state
      causal normalize <none>
      {final_state, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : sym 2 [8], sym 2 [8], [16], tensor<?xf32>, tensor<?x?x36x16xf32>
  return %o#0, %o#1 : [16], tensor<?x?x36x16xf32>
}

// Weights of all heads, a decay for each token, a final state without an initial one.
polyattn.attention @weights(
    %q: tensor<?x?x?x10xf32>, %k: tensor<?x?x?x10xf32>, %v: tensor<?x?x?x12xf32>,
    %w: tensor<10x24xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x12xf32>, final: tensor<?x?x24x12xf32>) {
  %x = read %q : tensor<?x?x?x10xf32> -> [10]
  %y = read %k : tensor<?x?x?x10xf32> -> [10]
  %m = read %w : tensor<10x24xf32> -> 10x24
  %a = project %x, %m : [10], 10x24
  %b = project %y, %m : [10], 10x24
  %c = read %v : tensor<?x?x?x12xf32> -> [12]
  %o:2 = attend query %a key %b value %c decay %g causal normalize <none>
      {final_state, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [24], [24], [12], tensor<?x?x?xf32>
  return %o#0, %o#1 : [12], tensor<?x?x24x12xf32>
}

// A local kernel, whose pairs are no part of the state's features.
polyattn.attention @local(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>,
    %state: tensor<?x?x8x8xf32>) -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x8x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %a = sin %x : [8]
  %b = sin %y : [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %a key %b value %c local %x, %y initial %state
      causal normalize <none>
      {block = 24, final_state, grouping = #polyattn.grouping<block>}
    : [8], [8], [8], [8], [8], tensor<?x?x8x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x8x8xf32>
}

// States of query heads beside keys that they share.
polyattn.attention @query_gates(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>,
    %g: tensor<?x?x?xf32>, %state: tensor<?x?x8x8xf32>)
    -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x8x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %a key %b value %c decay %g initial %state causal normalize <none>
      {final_state, gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [8], [8], [8], tensor<?x?x?xf32>, tensor<?x?x8x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x8x8xf32>
}
