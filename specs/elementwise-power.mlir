// Element-wise powers (LLoPS, section 3.3): phi(x) = (x W)^{*p}, LLoPS with all its projections
// equal. d = dv = 64, m = 256, p = 4; an even power needs no further guard of the sign.

polyattn.feature_map @power(%x: [64], %w: 64x256) {
  %p = project %x, %w : [64], 64x256
  %phi = pow %p {exponent = 4.0} : [256]
  yield %phi : [256]
}

// FLatten (Han et al. 2023), the focused feature map: r = relu(x), sharpened to r^{*3} and brought
// back to the length of r.
polyattn.feature_map @focused(%x: [64]) {
  %r = relu %x : [64]
  %r3 = pow %r {exponent = 3.0} : [64]
  %phi = l2_rescale %r3, %r : [64], [64]
  yield %phi : [64]
}

// The same with everything that the authors' code has besides: a position added to keys, 1e-6 added
// to the features before they are divided by softplus(s), s learned per channel. (Their norms run
// over all heads together, which is a dependence between heads; here they are per head.)
polyattn.feature_map @positioned(%x: [64], %position: [64]) {
  %y = add %x, %position : [64], [64]
  yield %y : [64]
}
polyattn.feature_map @focused_scaled(%x: [64], %s: 64) {
  %zero = constant {value = 0.0, width = 64}
  %s_vector = add_vec %zero, %s : [64], 64
  %divisor = softplus %s_vector : [64]
  %factor = pow %divisor {exponent = -1.0} : [64]
  %positive = relu %x : [64]
  %raised = add_const %positive {value = 1.0e-6} : [64]
  %r = hadamard %raised, %factor : [64], [64]
  %r3 = pow %r {exponent = 3.0} : [64]
  %phi = l2_rescale %r3, %r : [64], [64]
  yield %phi : [64]
}

polyattn.attention @elementwise_power(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w_q: tensor<64x256xf32>, %w_k: tensor<64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @power(%q, %w_q) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %phi_k = apply @power(%k, %w_k) : tensor<?x?x?x64xf32>, tensor<64x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [64]
  return %o : [64]
}

polyattn.attention @flatten(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @focused(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @focused(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

// A vision model's attention: every query sees every key, numerator and denominator are means,
// so that eps is one for any number of keys.
polyattn.attention @flatten_vision(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %s: tensor<64xf32>, %position: tensor<?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %position_vector = read %position : tensor<?x?x64xf32> -> [64]
  %k_positioned = apply @positioned(%k, %position_vector) : tensor<?x?x?x64xf32>, [64] -> [64]
  %phi_q = apply @focused_scaled(%q, %s) : tensor<?x?x?x64xf32>, tensor<64xf32> -> [64]
  %phi_k = apply @focused_scaled(%k_positioned, %s) : [64], tensor<64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      full normalize <sum, eps = 1.0e-6, reduce = mean>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}
