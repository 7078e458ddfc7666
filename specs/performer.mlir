// Performer, FAVOR+ (Choromanski et al. 2020; primer): positive random features
//
//   phi(x) = exp(w_i x - |x|^2 / 2) / sqrt(m)
//
// for m orthogonal Gaussian directions w_i, the columns of an argument; <phi(q), phi(k)> estimates
// exp(<q, k> / sqrt d) without bias, x scaled by d^(-1/4). d = dv = 64, m = 256.

polyattn.feature_map @favor(%x: [64], %w: 64x256) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %wx = project %h, %w : [64], 64x256
  %n = squared_norm %h : [64]
  %minus_half_n = scale %n {factor = -0.5} : [1]
  %exponent = add %wx, %minus_half_n : [256], [1]
  %e = exp %exponent : [256]
  %phi = scale %e {factor = 0.0625} : [256]
  yield %phi : [256]
}

// With the stabilizer: the largest w_i x is subtracted in the exponent. On a query that is a factor
// of its whole row, which the normalizer cancels; on a key it would weigh keys against each other,
// and a maximum over all positions would look into the future, so keys have none.
polyattn.feature_map @stabilized(%x: [64], %w: 64x256) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %wx = project %h, %w : [64], 64x256
  %n = squared_norm %h : [64]
  %minus_half_n = scale %n {factor = -0.5} : [1]
  %largest = max %wx : [256]
  %minus_largest = scale %largest {factor = -1.0} : [1]
  %exponent = add %wx, %minus_half_n, %minus_largest : [256], [1], [1]
  %e = exp %exponent : [256]
  %phi = scale %e {factor = 0.0625} : [256]
  yield %phi : [256]
}

// The authors' code adds 1e-6 to every feature, on both sides.
polyattn.feature_map @favor_eps(%x: [64], %w: 64x256) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %wx = project %h, %w : [64], 64x256
  %n = squared_norm %h : [64]
  %minus_half_n = scale %n {factor = -0.5} : [1]
  %exponent = add %wx, %minus_half_n : [256], [1]
  %e = exp %exponent : [256]
  %raised = add_const %e {value = 1.0e-6} : [256]
  %phi = scale %raised {factor = 0.0625} : [256]
  yield %phi : [256]
}

polyattn.attention @performer(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w: tensor<64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @favor(%q, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %phi_k = apply @favor(%k, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [64]
  return %o : [64]
}

polyattn.attention @performer_stabilized(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w: tensor<64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @stabilized(%q, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %phi_k = apply @favor(%k, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [64]
  return %o : [64]
}

// Their denominator: 2e-6 is added where it is 1e-6 or smaller in magnitude.
polyattn.attention @performer_guarded(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w: tensor<64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @favor_eps(%q, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %phi_k = apply @favor_eps(%k, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 0.0, guard_below = 1.0e-6, guard_add = 2.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [64]
  return %o : [64]
}
