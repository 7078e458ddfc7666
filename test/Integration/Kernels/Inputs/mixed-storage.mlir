// Weights of f32 beside sequences of 16 bits: matrices shared and per head, biases, gains, frequencies,
// tables of positions.
polyattn.feature_map @branches(%x: [64], %w: 64x48, %u: 64x48, %b: 48, %gain: 48) {
  %a = project %x, %w, %b : [64], 64x48, 48
  %c = project %x, %u : [64], 64x48
  %p = hadamard %a, %c : [48], [48]
  %phi = layer_norm %p, %gain {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [48], 48
  yield %phi : [48]
}

polyattn.attention @weights_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
    %w: tensor<64x48xf32>, %u: tensor<?x64x48xf32>, %b: tensor<48xf32>, %gain: tensor<48xf32>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %phi_q = apply @branches(%q, %w, %u, %b, %gain)
    : tensor<?x?x?x64xbf16>, tensor<64x48xf32>, tensor<?x64x48xf32>, tensor<48xf32>, tensor<48xf32>
    -> [48]
  %phi_k = apply @branches(%k, %w, %u, %b, %gain)
    : tensor<?x?x?x64xbf16>, tensor<64x48xf32>, tensor<?x64x48xf32>, tensor<48xf32>, tensor<48xf32>
    -> [48]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none> {grouping = #polyattn.grouping<block>}
    : [48], [48], [64]
  return %o : [64]
}

polyattn.feature_map @llops(%x: [128], %theta1: 128x256, %theta2: 128x256) {
  %a = project %x, %theta1 : [128], 128x256
  %b = project %x, %theta2 : [128], 128x256
  %phi = hadamard %a, %b : [256], [256]
  yield %phi : [256]
}

polyattn.attention @llops_bf16(
    %q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
    %theta1: tensor<128x256xf32>, %theta2: tensor<128x256xbf16>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops(%q, %theta1, %theta2)
    : tensor<?x?x?x128xbf16>, tensor<128x256xf32>, tensor<128x256xbf16> -> [256]
  %phi_k = apply @llops(%k, %theta1, %theta2)
    : tensor<?x?x?x128xbf16>, tensor<128x256xf32>, tensor<128x256xbf16> -> [256]
  %values = read %v : tensor<?x?x?x128xbf16> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none> {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

polyattn.feature_map @turned(%x: [32], %f: 16, %w: 32x32) {
  %y = project %x, %w : [32], 32x32
  %phi = rope %y, %f {layout = #polyattn.rope_layout<half>, dims = 32, offset = 0.0, scale = 1.0}
    : [32], 16
  yield %phi : [32]
}

polyattn.attention @rope_f16(
    %q: tensor<?x?x?x32xf16>, %k: tensor<?x?x?x32xf16>, %v: tensor<?x?x?x32xf16>,
    %f: tensor<16xf32>, %w: tensor<32x32xf32>, %shift: tensor<?x1x32xf32>)
    -> (o: tensor<?x?x?x32xf16>) {
  %phi_q = apply @turned(%q, %f, %w)
    : tensor<?x?x?x32xf16>, tensor<16xf32>, tensor<32x32xf32> -> [32]
  %phi_k = apply @turned(%k, %f, %w)
    : tensor<?x?x?x32xf16>, tensor<16xf32>, tensor<32x32xf32> -> [32]
  %shifts = read %shift : tensor<?x1x32xf32> -> [32]
  %shifted = add %phi_q, %shifts : [32], [32]
  %values = read %v : tensor<?x?x?x32xf16> -> [32]
  %o = attend query %shifted key %phi_k value %values
      causal normalize <none> {grouping = #polyattn.grouping<block>}
    : [32], [32], [32]
  return %o : [32]
}
