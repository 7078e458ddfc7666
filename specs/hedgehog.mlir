// Hedgehog (Zhang et al. 2024): features that mimic softmax, [softmax(x W), softmax(-x W)], each
// over its own half. d = dv = 64, D = 128; the weight is one per head, for queries and for keys.

polyattn.feature_map @two_softmaxes(%x: [64], %w: 64x64) {
  %z = project %x, %w : [64], 64x64
  %minus_z = scale %z {factor = -1.0} : [64]
  %both = concat %z, %minus_z : [64], [64]
  %phi = softmax %both {groups = 2} : [64] + [64]
  yield %phi : [128]
}

// flash-linear-attention's: a bias, the factor 2, one softmax over both halves.
polyattn.feature_map @one_softmax(%x: [64], %w: 64x64, %b: 64) {
  %z = project %x, %w, %b : [64], 64x64, 64
  %plus = scale %z {factor = 2.0} : [64]
  %minus = scale %z {factor = -2.0} : [64]
  %both = concat %plus, %minus : [64], [64]
  %phi = softmax %both {groups = 1} : [64] + [64]
  yield %phi : [128]
}

// The paper's first form: exponentials, not normalized over the features.
polyattn.feature_map @exponentials(%x: [64], %w: 64x64) {
  %z = project %x, %w : [64], 64x64
  %minus_z = scale %z {factor = -1.0} : [64]
  %both = concat %z, %minus_z : [64], [64]
  %phi = exp %both : [64] + [64]
  yield %phi : [128]
}

polyattn.attention @hedgehog(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w_q: tensor<?x64x64xf32>, %w_k: tensor<?x64x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @two_softmaxes(%q, %w_q) : tensor<?x?x?x64xf32>, tensor<?x64x64xf32> -> [128]
  %phi_k = apply @two_softmaxes(%k, %w_k) : tensor<?x?x?x64xf32>, tensor<?x64x64xf32> -> [128]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [128], [128], [64]
  return %o : [64]
}

polyattn.attention @hedgehog_joint(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w_q: tensor<?x64x64xf32>, %b_q: tensor<?x64xf32>, %w_k: tensor<?x64x64xf32>,
    %b_k: tensor<?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @one_softmax(%q, %w_q, %b_q)
    : tensor<?x?x?x64xf32>, tensor<?x64x64xf32>, tensor<?x64xf32> -> [128]
  %phi_k = apply @one_softmax(%k, %w_k, %b_k)
    : tensor<?x?x?x64xf32>, tensor<?x64x64xf32>, tensor<?x64xf32> -> [128]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [128], [128], [64]
  return %o : [64]
}

polyattn.attention @hedgehog_exp(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w_q: tensor<?x64x64xf32>, %w_k: tensor<?x64x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @exponentials(%q, %w_q) : tensor<?x?x?x64xf32>, tensor<?x64x64xf32> -> [128]
  %phi_k = apply @exponentials(%k, %w_k) : tensor<?x?x?x64xf32>, tensor<?x64x64xf32> -> [128]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [128], [128], [64]
  return %o : [64]
}
