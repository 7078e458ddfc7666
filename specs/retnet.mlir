// RetNet (Sun et al. 2023; primer): the identity with rotary positions, a constant decay per head,
// no normalizer. Keys carry the scale d^(-1/2); frequencies are an argument, one for each pair of
// neighbouring channels (torchscale's layout). Head h forgets at the rate 1 - 2^(-5-h).

polyattn.feature_map @rotated_256(%x: [256], %freqs: 128) {
  %phi = rope %x, %freqs
    {layout = #polyattn.rope_layout<interleaved>, dims = 256, offset = 0.0, scale = 1.0}
    : [256], 128
  yield %phi : [256]
}

polyattn.feature_map @rotated_scaled_256(%x: [256], %freqs: 128) {
  %h = scale %x {factor = 0.0625} : [256]
  %phi = rope %h, %freqs
    {layout = #polyattn.rope_layout<interleaved>, dims = 256, offset = 0.0, scale = 1.0}
    : [256], 128
  yield %phi : [256]
}

polyattn.feature_map @rotated_64(%x: [64], %freqs: 32) {
  %phi = rope %x, %freqs
    {layout = #polyattn.rope_layout<interleaved>, dims = 64, offset = 0.0, scale = 1.0}
    : [64], 32
  yield %phi : [64]
}

polyattn.feature_map @rotated_scaled_64(%x: [64], %freqs: 32) {
  %h = scale %x {factor = 0.125} : [64]
  %phi = rope %h, %freqs
    {layout = #polyattn.rope_layout<interleaved>, dims = 64, offset = 0.0, scale = 1.0}
    : [64], 32
  yield %phi : [64]
}

// The 3B model's heads: d = 256, dv = 428. The decay of each head, as log g, is an argument.
polyattn.attention @retnet_3b(
    %q: tensor<?x?x?x256xf32>, %k: tensor<?x?x?x256xf32>, %v: tensor<?x?x?x428xf32>,
    %freqs: tensor<128xf32>, %log_decay: tensor<?xf32>)
    -> (o: tensor<?x?x?x428xf32>) {
  %phi_q = apply @rotated_256(%q, %freqs) : tensor<?x?x?x256xf32>, tensor<128xf32> -> [256]
  %phi_k = apply @rotated_scaled_256(%k, %freqs) : tensor<?x?x?x256xf32>, tensor<128xf32> -> [256]
  %values = read %v : tensor<?x?x?x428xf32> -> [428]
  %o = attend query %phi_q key %phi_k value %values decay %log_decay
      causal normalize <none>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [256], [256], [428], tensor<?xf32>
  return %o : [428]
}

// Four heads of d = 64, dv = 128 with their decays written out.
polyattn.attention @retnet_4_heads(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x128xf32>,
    %freqs: tensor<32xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @rotated_64(%q, %freqs) : tensor<?x?x?x64xf32>, tensor<32xf32> -> [64]
  %phi_k = apply @rotated_scaled_64(%k, %freqs) : tensor<?x?x?x64xf32>, tensor<32xf32> -> [64]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {decay_factors = array<f64: 0.96875, 0.984375, 0.9921875, 0.99609375>,
       gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [64], [64], [128]
  return %o : [128]
}
