// Polynomial attention without sketches (PolySketchFormer, section 2.1): the score is <q', k'>^p
// for even p, q' and k' layer-normalized with a learned gain and bias (which absorb the scale), the
// denominator 1 + Z. d = dv = 64.
//
// p = 2 has 2080 features. p = 4 has 766480, p = 8 about 10^10: only the quadratic form exists,
// scores tile by tile; the same text says so, since a power's scores need no features.

polyattn.feature_map @normalized(%x: [64], %gamma: 64, %beta: 64) {
  %y = layer_norm %x, %gamma, %beta {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>}
    : [64], 64, 64
  yield %y : [64]
}

polyattn.feature_map @power_2(%x: [64]) {
  %phi = power %x {degree = 2, symmetric} : [64]
  yield %phi : sym 2 [64]
}

polyattn.feature_map @power_4(%x: [64]) {
  %phi = power %x {degree = 4, symmetric} : [64]
  yield %phi : sym 4 [64]
}

polyattn.feature_map @power_8(%x: [64]) {
  %phi = power %x {degree = 8, symmetric} : [64]
  yield %phi : sym 8 [64]
}

polyattn.attention @polynomial_p2(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @power_2(%q_n) : [64] -> sym 2 [64]
  %phi_k = apply @power_2(%k_n) : [64] -> sym 2 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [64], sym 2 [64], [64]
  return %o : [64]
}

polyattn.attention @polynomial_p4(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @power_4(%q_n) : [64] -> sym 4 [64]
  %phi_k = apply @power_4(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>}
    : sym 4 [64], sym 4 [64], [64]
  return %o : [64]
}

polyattn.attention @polynomial_p8(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @power_8(%q_n) : [64] -> sym 8 [64]
  %phi_k = apply @power_8(%k_n) : [64] -> sym 8 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>}
    : sym 8 [64], sym 8 [64], [64]
  return %o : [64]
}
