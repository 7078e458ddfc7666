// Two entries: one storage type each, one of them with keys of their own length.
polyattn.feature_map @elu(%x: [8]) {
  %phi = elu_plus_one %x : [8]
  yield %phi : [8]
}

polyattn.attention @full(%q: tensor<?x?x?x8xf16>, %k: tensor<?x?x?x8xf16>,
                         %v: tensor<?x?x?x4xf16>) -> (o: tensor<?x?x?x4xf16>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x8xf16> -> [8]
  %phi_k = apply @elu(%k) : tensor<?x?x?x8xf16> -> [8]
  %values = read %v : tensor<?x?x?x4xf16> -> [4]
  %o = attend query %phi_q key %phi_k value %values full normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : [8], [8], [4]
  return %o : [4]
}

polyattn.attention @gated(%q: tensor<?x?x?x8xbf16>, %k: tensor<?x?x?x8xbf16>,
                          %v: tensor<?x?x?x4xbf16>, %g: tensor<?x?x?xf32>,
                          %s0: tensor<?x?x8x4xf32>, %z0: tensor<?x?x8xf32>)
    -> (o: tensor<?x?x?x4xbf16>, s: tensor<?x?x8x4xf32>, z: tensor<?x?x8xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x8xbf16> -> [8]
  %phi_k = apply @elu(%k) : tensor<?x?x?x8xbf16> -> [8]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %o:3 = attend query %phi_q key %phi_k value %values decay %g initial %s0
      initial_normalizer %z0 causal normalize <sum, eps = 1.0e-6> {final_state, grouping = #polyattn.grouping<block>}
    : [8], [8], [4], tensor<?x?x?xf32>, tensor<?x?x8x4xf32>, tensor<?x?x8xf32>
  return %o#0, %o#1, %o#2 : [4], tensor<?x?x8x4xf32>, tensor<?x?x8xf32>
}
