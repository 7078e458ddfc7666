// Random Fourier features (primer; random feature attention): phi(x) = sqrt(1/m) [cos(w_i x),
// sin(w_i x)] for m Gaussian directions w_i, given as the columns of an argument. The score
// estimates the Gaussian kernel exp(-|q - k|^2 / 2) without bias, and may come out negative; the
// floor on the denominator is the primer's. d = dv = 64, m = 256, D = 512. Vectors are scaled by
// d^(-1/4), so that <q, k> is divided by sqrt d.

polyattn.feature_map @fourier(%x: [64], %w: 64x256) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %wx = project %h, %w : [64], 64x256
  %cos = cos %wx : [256]
  %sin = sin %wx : [256]
  %both = concat %cos, %sin : [256], [256]
  %phi = scale %both {factor = 0.0625} : [256] + [256]
  yield %phi : [256] + [256]
}

// Times exp(|x|^2 / 2): an estimate of the softmax kernel exp(<q, k> / sqrt d).
polyattn.feature_map @fourier_softmax(%x: [64], %w: 64x256) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %wx = project %h, %w : [64], 64x256
  %cos = cos %wx : [256]
  %sin = sin %wx : [256]
  %both = concat %cos, %sin : [256], [256]
  %n = squared_norm %h : [64]
  %half_n = scale %n {factor = 0.5} : [1]
  %size = exp %half_n : [1]
  %sized = hadamard %both, %size : [256] + [256], [1]
  %phi = scale %sized {factor = 0.0625} : [512]
  yield %phi : [512]
}

polyattn.attention @rff(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w: tensor<64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @fourier(%q, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256] + [256]
  %phi_k = apply @fourier(%k, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256] + [256]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6, min_denom = 1.0e-4>
      {signed_scores, grouping = #polyattn.grouping<block>}
    : [256] + [256], [256] + [256], [64]
  return %o : [64]
}

polyattn.attention @rff_softmax(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w: tensor<64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @fourier_softmax(%q, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [512]
  %phi_k = apply @fourier_softmax(%k, %w) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [512]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6, min_denom = 1.0e-4>
      {signed_scores, grouping = #polyattn.grouping<block>}
    : [512], [512], [64]
  return %o : [64]
}
