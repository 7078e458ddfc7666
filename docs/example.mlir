polyattn.feature_map @squares(%x: [16], %w: 16x8) {
  %p = project %x, %w : [16], 16x8
  %half = scale %p {factor = 0.5} : [8]
  %phi = tensor %half, %half : [8], [8]
  yield %phi : [8] x [8]
}

polyattn.attention @squares_attention(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x16xf32>,
    %w: tensor<16x8xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %phi_q = apply @squares(%q, %w) : tensor<?x?x?x16xf32>, tensor<16x8xf32> -> [8] x [8]
  %phi_k = apply @squares(%k, %w) : tensor<?x?x?x16xf32>, tensor<16x8xf32> -> [8] x [8]
  %values = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 1.0>
      {grouping = block}
    : [8] x [8], [8] x [8], [16]
  return %o : [16]
}
