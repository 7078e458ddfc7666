// Linear attention in bf16 that begins with a state: what a loop carries is not zero at first, so it
// matters from where each of its numbers is read.
polyattn.feature_map @elu(%x: [64]) {
  %phi = elu_plus_one %x : [64]
  yield %phi : [64]
}

polyattn.attention @linear_states_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
    %state: tensor<?x?x64x64xf32>, %state_z: tensor<?x?x64xf32>)
    -> (o: tensor<?x?x?x64xbf16>, final: tensor<?x?x64x64xf32>, final_z: tensor<?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xbf16> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xbf16> -> [64]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o:3 = attend query %phi_q key %phi_k value %values initial %state initial_normalizer %state_z
      causal normalize <sum, eps = 1.0e-6>
      {final_state, grouping = #polyattn.grouping<block>}
    : [64], [64], [64], tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
  return %o#0, %o#1, %o#2 : [64], tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
}
