// States in and out of maps other than linear ones: monomials, a local kernel, decays of each kind,
// scores that are a sum of terms. A random state is no sum of features and denominators could
// vanish: a large bias keeps them away from zero.
polyattn.feature_map @square(%x: [12]) {
  %h = scale %x {factor = 0.5} : [12]
  %phi = power 2 %h {symmetric} : [12]
  yield %phi : sym 2 [12]
}

polyattn.feature_map @taylor(%x: [12]) {
  %h = scale %x {factor = 0.5} : [12]
  %one = constant {value = 1.0, width = 1}
  %hh = power 2 %h : [12]
  %half = scale %hh {factor = 0.70710678118654757} : pow 2 [12]
  %phi = concat %one, %h, %half : [1], [12], pow 2 [12]
  yield %phi : [1] + [12] + pow 2 [12]
}

polyattn.feature_map @sketch(%x: [12], %g1: 12x5, %g2: 12x5) {
  %a = project %x, %g1 : [12], 12x5
  %b = project %x, %g2 : [12], 12x5
  %phi = hadamard %a, %b : [5], [5]
  yield %phi : [5]
}

polyattn.attention @power_states(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>,
    %s: tensor<?x?x78x20xf32>)
    -> (o: tensor<?x?x?x20xf32>, final_s: tensor<?x?x78x20xf32>) {
  %phi_q = apply @square(%q) : tensor<?x?x?x12xf32> -> sym 2 [12]
  %phi_k = apply @square(%k) : tensor<?x?x?x12xf32> -> sym 2 [12]
  %values = read %v : tensor<?x?x?x20xf32> -> [20]
  %o:2 = attend query %phi_q key %phi_k value %values initial %s
      causal normalize <none> {final_state, grouping = #polyattn.grouping<block>}
    : sym 2 [12], sym 2 [12], [20], tensor<?x?x78x20xf32>
  return %o#0, %o#1 : [20], tensor<?x?x78x20xf32>
}

polyattn.attention @taylor_states(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x12xf32>,
    %g: tensor<?xf32>, %s: tensor<?x?x157x12xf32>, %z: tensor<?x?x157xf32>)
    -> (o: tensor<?x?x?x12xf32>, final_s: tensor<?x?x157x12xf32>, final_z: tensor<?x?x157xf32>) {
  %phi_q = apply @taylor(%q) : tensor<?x?x?x12xf32> -> [1] + [12] + pow 2 [12]
  %phi_k = apply @taylor(%k) : tensor<?x?x?x12xf32> -> [1] + [12] + pow 2 [12]
  %values = read %v : tensor<?x?x?x12xf32> -> [12]
  %o:3 = attend query %phi_q key %phi_k value %values decay %g initial %s initial_normalizer %z
      causal normalize <bias, bias = 30.0> {final_state, grouping = #polyattn.grouping<block>}
    : [1] + [12] + pow 2 [12], [1] + [12] + pow 2 [12], [12], tensor<?xf32>,
      tensor<?x?x157x12xf32>, tensor<?x?x157xf32>
  return %o#0, %o#1, %o#2 : [12], tensor<?x?x157x12xf32>, tensor<?x?x157xf32>
}

polyattn.attention @local_states(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>,
    %g1: tensor<12x5xf32>, %g2: tensor<12x5xf32>, %s: tensor<?x?x5x8xf32>)
    -> (o: tensor<?x?x?x8xf32>, final_s: tensor<?x?x5x8xf32>) {
  %phi_q = apply @sketch(%q, %g1, %g2)
    : tensor<?x?x?x12xf32>, tensor<12x5xf32>, tensor<12x5xf32> -> [5]
  %phi_k = apply @sketch(%k, %g1, %g2)
    : tensor<?x?x?x12xf32>, tensor<12x5xf32>, tensor<12x5xf32> -> [5]
  %exact_q = apply @square(%q) : tensor<?x?x?x12xf32> -> sym 2 [12]
  %exact_k = apply @square(%k) : tensor<?x?x?x12xf32> -> sym 2 [12]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k initial %s
      causal normalize <none> {final_state, block = 32, grouping = #polyattn.grouping<block>}
    : [5], [5], [8], sym 2 [12], sym 2 [12], tensor<?x?x5x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x5x8xf32>
}

polyattn.attention @gated_local_states(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>,
    %g1: tensor<12x5xf32>, %g2: tensor<12x5xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x5x8xf32>)
    -> (o: tensor<?x?x?x8xf32>, final_s: tensor<?x?x5x8xf32>) {
  %phi_q = apply @sketch(%q, %g1, %g2)
    : tensor<?x?x?x12xf32>, tensor<12x5xf32>, tensor<12x5xf32> -> [5]
  %phi_k = apply @sketch(%k, %g1, %g2)
    : tensor<?x?x?x12xf32>, tensor<12x5xf32>, tensor<12x5xf32> -> [5]
  %exact_q = apply @square(%q) : tensor<?x?x?x12xf32> -> sym 2 [12]
  %exact_k = apply @square(%k) : tensor<?x?x?x12xf32> -> sym 2 [12]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k decay %g initial %s
      causal normalize <none> {final_state, block = 32, grouping = #polyattn.grouping<block>}
    : [5], [5], [8], sym 2 [12], sym 2 [12], tensor<?x?x?xf32>, tensor<?x?x5x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x5x8xf32>
}
