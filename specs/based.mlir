// BASED. Arora et al. 2024: queries and keys are projected to d' = 16 dimensions, the score is
// the second Taylor polynomial of the exponential, 1 + s + s^2 / 2 for s = <q', k'> / sqrt(d').
// It is positive everywhere, so that the sum of the scores normalizes. d = dv = 64.

// 1 (+) p / d'^(1/4) (+) (p (x) p) / (sqrt(2) sqrt(d')): D = 273 stored as written,
polyattn.feature_map @taylor(%x: [64], %w: 64x16) {
  %p = project %x, %w : [64], 64x16
  %h = scale %p {factor = 0.5} : [16]
  %one = constant {value = 1.0, width = 1}
  %hh = power %h {degree = 2} : [16]
  %half = scale %hh {factor = 0.70710678118654757} : pow 2 [16]
  %phi = concat %one, %h, %half : [1], [16], pow 2 [16]
  yield %phi : [1] + [16] + pow 2 [16]
}

// and D = 153 on the sorted monomials, with the same scores.
polyattn.feature_map @taylor_symmetric(%x: [64], %w: 64x16) {
  %p = project %x, %w : [64], 64x16
  %h = scale %p {factor = 0.5} : [16]
  %one = constant {value = 1.0, width = 1}
  %hh = power %h {degree = 2, symmetric} : [16]
  %half = scale %hh {factor = 0.70710678118654757} : sym 2 [16]
  %phi = concat %one, %h, %half : [1], [16], sym 2 [16]
  yield %phi : [1] + [16] + sym 2 [16]
}

// Projections of their own for every head, as in the models.
polyattn.attention @based(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w_q: tensor<?x64x16xf32>, %w_k: tensor<?x64x16xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @taylor_symmetric(%q, %w_q)
    : tensor<?x?x?x64xf32>, tensor<?x64x16xf32> -> [1] + [16] + sym 2 [16]
  %phi_k = apply @taylor_symmetric(%k, %w_k)
    : tensor<?x?x?x64xf32>, tensor<?x64x16xf32> -> [1] + [16] + sym 2 [16]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-12>
      {grouping = #polyattn.grouping<block>}
    : [1] + [16] + sym 2 [16], [1] + [16] + sym 2 [16], [64]
  return %o : [64]
}

// One projection for all heads, features as the paper writes them.
polyattn.attention @based_tensor(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w_q: tensor<64x16xf32>, %w_k: tensor<64x16xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @taylor(%q, %w_q)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32> -> [1] + [16] + pow 2 [16]
  %phi_k = apply @taylor(%k, %w_k)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32> -> [1] + [16] + pow 2 [16]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-12>
      {grouping = #polyattn.grouping<block>}
    : [1] + [16] + pow 2 [16], [1] + [16] + pow 2 [16], [64]
  return %o : [64]
}

// The values of the 1.3B model are 112 wide (1792 / 16 heads).
polyattn.attention @based_dv112(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x112xf32>,
    %w_q: tensor<64x16xf32>, %w_k: tensor<64x16xf32>) -> (o: tensor<?x?x?x112xf32>) {
  %phi_q = apply @taylor_symmetric(%q, %w_q)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32> -> [1] + [16] + sym 2 [16]
  %phi_k = apply @taylor_symmetric(%k, %w_k)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32> -> [1] + [16] + sym 2 [16]
  %values = read %v : tensor<?x?x?x112xf32> -> [112]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-12>
      {grouping = #polyattn.grouping<block>}
    : [1] + [16] + sym 2 [16], [1] + [16] + sym 2 [16], [112]
  return %o : [112]
}
