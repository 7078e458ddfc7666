// Symmetric features of a state that is given and asked for: they lie as the spec has them.
polyattn.feature_map @power(%x: [32]) {
  %y = scale %x {factor = 0.25} : [32]
  %phi = power 2 %y {symmetric} : [32]
  yield %phi : sym 2 [32]
}

polyattn.attention @power_states(
    %q: tensor<?x?x?x32xf32>, %k: tensor<?x?x?x32xf32>, %v: tensor<?x?x?x32xf32>,
    %initial: tensor<?x?x528x32xf32>)
    -> (o: tensor<?x?x?x32xf32>, final: tensor<?x?x528x32xf32>) {
  %phi_q = apply @power(%q) : tensor<?x?x?x32xf32> -> sym 2 [32]
  %phi_k = apply @power(%k) : tensor<?x?x?x32xf32> -> sym 2 [32]
  %values = read %v : tensor<?x?x?x32xf32> -> [32]
  %o:2 = attend query %phi_q key %phi_k value %values initial %initial
      causal normalize <none>
      {final_state, grouping = #polyattn.grouping<block>}
    : sym 2 [32], sym 2 [32], [32], tensor<?x?x528x32xf32>
  return %o#0, %o#1 : [32], tensor<?x?x528x32xf32>
}
