polyattn.feature_map @elu(%x: [64]) {
  %phi = elu_plus_one %x : [64]
  yield %phi : [64]
}

polyattn.attention @linear(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>,
                           %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf16> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf16> -> [64]
  %values = read %v : tensor<?x?x?x64xf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [64], [64], [64]
  return %o : [64]
}
