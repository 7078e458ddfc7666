// What an attention may return beside an attend's output: vectors computed from it, alone and as
// parts of concatenations, and its final states in any number and order.
polyattn.feature_map @positive(%x: [4]) {
  %phi = exp %x : [4]
  yield %phi : [4]
}

polyattn.attention @gated_part(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %phi_q = apply @positive(%q) : tensor<?x?x?x4xf32> -> [4]
  %phi_k = apply @positive(%k) : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 0.0>
    : [4], [4], [4]
  %g = tanh %o : [4]
  %c = concat %g, %o : [4], [4]
  return %c : [4] + [4]
}

polyattn.attention @nested_parts(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>,
    %w: tensor<12x5xf32>)
    -> (o: tensor<?x?x?x13xf32>, plain: tensor<?x?x?x4xf32>, again: tensor<?x?x?x4xf32>) {
  %phi_q = apply @positive(%q) : tensor<?x?x?x4xf32> -> [4]
  %phi_k = apply @positive(%k) : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %weight = read %w : tensor<12x5xf32> -> 12x5
  %near = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 0.0>
    : [4], [4], [4]
  %sum:2 = attend query %phi_q key %phi_k value %values causal normalize <none>
      {decay_factors = array<f64: 0.5, 0.75>, final_state}
    : [4], [4], [4]
  %g = tanh %near : [4]
  %all = concat %near, %g, %values : [4], [4], [4]
  %mixed = project %all, %weight : [4] + [4] + [4], 12x5
  %inner = concat %g, %sum#0 : [4], [4]
  %c = concat %mixed, %inner : [5], [4] + [4]
  return %c, %near, %near : [5] + ([4] + [4]), [4], [4]
}

polyattn.attention @normalizer_alone(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, z: tensor<?x?x4xf32>) {
  %phi_q = apply @positive(%q) : tensor<?x?x?x4xf32> -> [4]
  %phi_k = apply @positive(%k) : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:3 = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 0.0>
      {final_state, grouping = #polyattn.grouping<block>}
    : [4], [4], [4]
  return %o#0, %o#2 : [4], tensor<?x?x4xf32>
}

polyattn.attention @states_only(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (z: tensor<?x?x4xf32>, s: tensor<?x?x4x4xf32>) {
  %phi_q = apply @positive(%q) : tensor<?x?x?x4xf32> -> [4]
  %phi_k = apply @positive(%k) : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:3 = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 0.0>
      {final_state, grouping = #polyattn.grouping<block>}
    : [4], [4], [4]
  return %o#2, %o#1 : tensor<?x?x4xf32>, tensor<?x?x4x4xf32>
}

polyattn.attention @state_twice(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (s1: tensor<?x?x4x4xf32>, z1: tensor<?x?x4xf32>, o: tensor<?x?x?x4xf32>,
        s2: tensor<?x?x4x4xf32>, z2: tensor<?x?x4xf32>) {
  %phi_q = apply @positive(%q) : tensor<?x?x?x4xf32> -> [4]
  %phi_k = apply @positive(%k) : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:3 = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 0.0>
      {final_state, grouping = #polyattn.grouping<block>}
    : [4], [4], [4]
  return %o#1, %o#2, %o#0, %o#1, %o#2
    : tensor<?x?x4x4xf32>, tensor<?x?x4xf32>, [4], tensor<?x?x4x4xf32>, tensor<?x?x4xf32>
}

polyattn.attention @no_state_of_two(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (z: tensor<?x?x4xf32>, o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %phi_q = apply @positive(%q) : tensor<?x?x?x4xf32> -> [4]
  %phi_k = apply @positive(%k) : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:3 = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 0.0>
      {final_state, grouping = #polyattn.grouping<block>}
    : [4], [4], [4]
  %p:3 = attend query %phi_k key %phi_q value %values causal normalize <sum, eps = 0.0>
      {final_state, grouping = #polyattn.grouping<block>}
    : [4], [4], [4]
  return %p#2, %o#0, %p#0 : tensor<?x?x4xf32>, [4], [4]
}
