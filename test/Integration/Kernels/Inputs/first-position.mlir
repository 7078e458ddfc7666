// What counts positions, in calls that begin anywhere in their sequences: angles, tables, means, local
// blocks; each with states, so that a sequence can be cut in two.
polyattn.feature_map @turned(%x: [12], %f: 6) {
  %phi = rope %x, %f {layout = #polyattn.rope_layout<half>, dims = 12, offset = 0.5, scale = 1.0}
    : [12], 6
  yield %phi : [12]
}

polyattn.attention @rope_states(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>,
    %f: tensor<6xf32>, %g: tensor<?xf32>, %s: tensor<?x?x12x8xf32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x8xf32>, final_s: tensor<?x?x12x8xf32>) first_position %first {
  %phi_q = apply @turned(%q, %f) : tensor<?x?x?x12xf32>, tensor<6xf32> -> [12]
  %phi_k = apply @turned(%k, %f) : tensor<?x?x?x12xf32>, tensor<6xf32> -> [12]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %phi_q key %phi_k value %values decay %g initial %s
      causal normalize <none> {final_state, grouping = #polyattn.grouping<block>}
    : [12], [12], [8], tensor<?xf32>, tensor<?x?x12x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x12x8xf32>
}

polyattn.feature_map @turned_square(%x: [12], %f: 4) {
  %h = scale %x {factor = 0.5} : [12]
  %y = rope %h, %f
    {layout = #polyattn.rope_layout<interleaved>, dims = 8, offset = 0.0, scale = 0.5} : [12], 4
  %phi = power 2 %y {symmetric} : [12]
  yield %phi : sym 2 [12]
}

polyattn.attention @mean_states(
    %first: tensor<?xi32>, %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>,
    %v: tensor<?x?x?x8xf32>, %f: tensor<4xf32>, %s: tensor<?x?x78x8xf32>, %z: tensor<?x?x78xf32>)
    -> (o: tensor<?x?x?x8xf32>, final_s: tensor<?x?x78x8xf32>, final_z: tensor<?x?x78xf32>)
    first_position %first {
  %phi_q = apply @turned_square(%q, %f) : tensor<?x?x?x12xf32>, tensor<4xf32> -> sym 2 [12]
  %phi_k = apply @turned_square(%k, %f) : tensor<?x?x?x12xf32>, tensor<4xf32> -> sym 2 [12]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:3 = attend query %phi_q key %phi_k value %values initial %s initial_normalizer %z
      causal normalize <bias, bias = 30.0, reduce = mean>
      {final_state, grouping = #polyattn.grouping<block>}
    : sym 2 [12], sym 2 [12], [8], tensor<?x?x78x8xf32>, tensor<?x?x78xf32>
  return %o#0, %o#1, %o#2 : [8], tensor<?x?x78x8xf32>, tensor<?x?x78xf32>
}

polyattn.attention @table_states(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>,
    %size: tensor<?x1x12xf32>, %shift: tensor<?x?x12xf32>, %s: tensor<?x?x12x8xf32>,
    %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x8xf32>, final_s: tensor<?x?x12x8xf32>) first_position %first {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %sizes = read %size : tensor<?x1x12xf32> -> [12]
  %shifts = read %shift : tensor<?x?x12xf32> -> [12]
  %phi_q = hadamard %a, %sizes : [12], [12]
  %phi_k = add %b, %sizes : [12], [12]
  %shifted = add %phi_q, %shifts : [12], [12]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %shifted key %phi_k value %values initial %s
      causal normalize <none, reduce = mean> {final_state, grouping = #polyattn.grouping<block>}
    : [12], [12], [8], tensor<?x?x12x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x12x8xf32>
}

polyattn.attention @local_states(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>,
    %f: tensor<6xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x12x8xf32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x8xf32>, final_s: tensor<?x?x12x8xf32>) first_position %first {
  %phi_q = apply @turned(%q, %f) : tensor<?x?x?x12xf32>, tensor<6xf32> -> [12]
  %phi_k = apply @turned(%k, %f) : tensor<?x?x?x12xf32>, tensor<6xf32> -> [12]
  %near_q = relu %phi_q : [12]
  %near_k = relu %phi_k : [12]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %phi_q key %phi_k value %values local %near_q, %near_k decay %g initial %s
      causal normalize <none> {final_state, block = 32, grouping = #polyattn.grouping<block>}
    : [12], [12], [8], [12], [12], tensor<?x?x?xf32>, tensor<?x?x12x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x12x8xf32>
}
