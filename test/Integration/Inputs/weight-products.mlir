// Projections of projections: weights of all heads, of each head, of both kinds, and a product
// that the spec itself asks for.
polyattn.feature_map @two(%x: [8], %w1: 8x6, %w2: 6x12) {
  %p = project %x, %w1 : [8], 8x6
  %y = project %p, %w2 : [6], 6x12
  %phi = elu_plus_one %y : [12]
  yield %phi : [12]
}

polyattn.feature_map @product(%x: [8], %w1: 8x6, %w2: 6x12, %b: 12) {
  %w = weight_product %w1, %w2 : 8x6, 6x12
  %y = project %x, %w, %b : [8], 8x12, 12
  %phi = elu_plus_one %y : [12]
  yield %phi : [12]
}

polyattn.attention @shared(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x4xf32>, %w1: tensor<8x6xf32>, %w2: tensor<6x12xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %phi_q = apply @two(%q, %w1, %w2) : tensor<?x?x?x8xf32>, tensor<8x6xf32>, tensor<6x12xf32> -> [12]
  %phi_k = apply @two(%k, %w1, %w2) : tensor<?x?x?x8xf32>, tensor<8x6xf32>, tensor<6x12xf32> -> [12]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : [12], [12], [4]
  return %o : [4]
}

// The sides have weights of their own, and as many as they have heads.
polyattn.attention @mixed(%q: tensor<?x?x?x8xbf16>, %k: tensor<?x?x?x8xbf16>,
    %v: tensor<?x?x?x4xbf16>, %w1: tensor<8x6xbf16>, %u: tensor<?x6x12xbf16>,
    %z: tensor<?x6x12xbf16>) -> (o: tensor<?x?x?x4xbf16>) {
  %phi_q = apply @two(%q, %w1, %u) : tensor<?x?x?x8xbf16>, tensor<8x6xbf16>, tensor<?x6x12xbf16> -> [12]
  %phi_k = apply @two(%k, %w1, %z) : tensor<?x?x?x8xbf16>, tensor<8x6xbf16>, tensor<?x6x12xbf16> -> [12]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : [12], [12], [4]
  return %o : [4]
}

polyattn.attention @per_head(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x4xf32>, %w1: tensor<?x8x6xf32>, %w2: tensor<?x6x12xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %phi_q = apply @two(%q, %w1, %w2) : tensor<?x?x?x8xf32>, tensor<?x8x6xf32>, tensor<?x6x12xf32> -> [12]
  %phi_k = apply @two(%k, %w1, %w2) : tensor<?x?x?x8xf32>, tensor<?x8x6xf32>, tensor<?x6x12xf32> -> [12]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %phi_q key %phi_k value %values full normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : [12], [12], [4]
  return %o : [4]
}

polyattn.attention @asked_for(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x4xf32>, %w1: tensor<8x6xf32>, %w2: tensor<?x6x12xf32>, %b: tensor<12xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %phi_q = apply @product(%q, %w1, %w2, %b) : tensor<?x?x?x8xf32>, tensor<8x6xf32>, tensor<?x6x12xf32>, tensor<12xf32> -> [12]
  %phi_k = apply @product(%k, %w1, %w2, %b) : tensor<?x?x?x8xf32>, tensor<8x6xf32>, tensor<?x6x12xf32>, tensor<12xf32> -> [12]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : [12], [12], [4]
  return %o : [4]
}
