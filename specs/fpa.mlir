// Factorized polynomial attention: the score is a product of n inner products in projections of
// their own, phi(x) = (x)_l W_l x, D the product of the widths d_l; exact, with any D between d and
// d^n. Queries and keys share the W_l, which every head has for itself. The paper has no normalizer
// and no scale (a scale would apply once, to the product). d = dv = 64.

polyattn.feature_map @fpa2(%x: [64], %w1: 64x16, %w2: 64x24) {
  %a = project %x, %w1 : [64], 64x16
  %b = project %x, %w2 : [64], 64x24
  %phi = tensor %a, %b : [16], [24]
  yield %phi : [16] x [24]
}

polyattn.feature_map @fpa3(%x: [64], %w1: 64x4, %w2: 64x8, %w3: 64x12) {
  %a = project %x, %w1 : [64], 64x4
  %b = project %x, %w2 : [64], 64x8
  %c = project %x, %w3 : [64], 64x12
  %phi = tensor %a, %b, %c : [4], [8], [12]
  yield %phi : [4] x [8] x [12]
}

// A head may be narrower than others: its columns beyond d_l are switched off by a row of ones and
// zeros, so that one call serves all heads.
polyattn.feature_map @fpa2_masked(%x: [64], %w1: 64x16, %columns1: 16, %w2: 64x24, %columns2: 24) {
  %a_all = project %x, %w1 : [64], 64x16
  %a = mul_vec %a_all, %columns1 : [16], 16
  %b_all = project %x, %w2 : [64], 64x24
  %b = mul_vec %b_all, %columns2 : [24], 24
  %phi = tensor %a, %b : [16], [24]
  yield %phi : [16] x [24]
}

// Other widths for other heads without padding are a second entry, called on its range of heads.
polyattn.feature_map @fpa2_even(%x: [64], %w1: 64x20, %w2: 64x20) {
  %a = project %x, %w1 : [64], 64x20
  %b = project %x, %w2 : [64], 64x20
  %phi = tensor %a, %b : [20], [20]
  yield %phi : [20] x [20]
}

// Table 1, coordinate select (and orthogonal blocks, as the coordinates are disjoint): no weights.
polyattn.feature_map @coordinates(%x: [64]) {
  %a = select %x {indices = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>}
    : [64]
  %b = select %x {indices = array<i64: 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
                                     31, 32, 33, 34, 35, 36, 37, 38, 39>}
    : [64]
  %phi = tensor %a, %b : [16], [24]
  yield %phi : [16] x [24]
}

// Table 1, diagonal factors: monomials never mix coordinates inside a factor.
polyattn.feature_map @diagonal(%x: [64], %g1: 64, %g2: 64) {
  %a = mul_vec %x, %g1 : [64], 64
  %b = mul_vec %x, %g2 : [64], 64
  %phi = tensor %a, %b : [64], [64]
  yield %phi : [64] x [64]
}

// Table 1, rank-1 factors: n learned directions, one feature.
polyattn.feature_map @directions(%x: [64], %a1: 64x1, %a2: 64x1, %a3: 64x1) {
  %s1 = project %x, %a1 : [64], 64x1
  %s2 = project %x, %a2 : [64], 64x1
  %s3 = project %x, %a3 : [64], 64x1
  %phi = hadamard %s1, %s2, %s3 : [1], [1], [1]
  yield %phi : [1]
}

// Two branches, 16 x 24: D = 384.
polyattn.attention @fpa_n2(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w1: tensor<?x64x16xf32>, %w2: tensor<?x64x24xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @fpa2(%q, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<?x64x16xf32>, tensor<?x64x24xf32> -> [16] x [24]
  %phi_k = apply @fpa2(%k, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<?x64x16xf32>, tensor<?x64x24xf32> -> [16] x [24]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [16] x [24], [16] x [24], [64]
  return %o : [64]
}

// Three branches, 4 x 8 x 12: D = 384, and the score keeps its sign.
polyattn.attention @fpa_n3(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w1: tensor<?x64x4xf32>, %w2: tensor<?x64x8xf32>, %w3: tensor<?x64x12xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @fpa3(%q, %w1, %w2, %w3)
    : tensor<?x?x?x64xf32>, tensor<?x64x4xf32>, tensor<?x64x8xf32>, tensor<?x64x12xf32>
      -> [4] x [8] x [12]
  %phi_k = apply @fpa3(%k, %w1, %w2, %w3)
    : tensor<?x?x?x64xf32>, tensor<?x64x4xf32>, tensor<?x64x8xf32>, tensor<?x64x12xf32>
      -> [4] x [8] x [12]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [4] x [8] x [12], [4] x [8] x [12], [64]
  return %o : [64]
}

// Weights shared by all heads.
polyattn.attention @fpa_shared(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w1: tensor<64x16xf32>, %w2: tensor<64x24xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @fpa2(%q, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32>, tensor<64x24xf32> -> [16] x [24]
  %phi_k = apply @fpa2(%k, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32>, tensor<64x24xf32> -> [16] x [24]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [16] x [24], [16] x [24], [64]
  return %o : [64]
}

// Heads of different widths, at most 16 x 24.
polyattn.attention @fpa_head_widths(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w1: tensor<?x64x16xf32>, %columns1: tensor<?x16xf32>, %w2: tensor<?x64x24xf32>,
    %columns2: tensor<?x24xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @fpa2_masked(%q, %w1, %columns1, %w2, %columns2)
    : tensor<?x?x?x64xf32>, tensor<?x64x16xf32>, tensor<?x16xf32>, tensor<?x64x24xf32>,
      tensor<?x24xf32> -> [16] x [24]
  %phi_k = apply @fpa2_masked(%k, %w1, %columns1, %w2, %columns2)
    : tensor<?x?x?x64xf32>, tensor<?x64x16xf32>, tensor<?x16xf32>, tensor<?x64x24xf32>,
      tensor<?x24xf32> -> [16] x [24]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [16] x [24], [16] x [24], [64]
  return %o : [64]
}

polyattn.attention @fpa_even(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w1: tensor<?x64x20xf32>, %w2: tensor<?x64x20xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @fpa2_even(%q, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<?x64x20xf32>, tensor<?x64x20xf32> -> [20] x [20]
  %phi_k = apply @fpa2_even(%k, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<?x64x20xf32>, tensor<?x64x20xf32> -> [20] x [20]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [20] x [20], [20] x [20], [64]
  return %o : [64]
}

polyattn.attention @fpa_coordinates(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @coordinates(%q) : tensor<?x?x?x64xf32> -> [16] x [24]
  %phi_k = apply @coordinates(%k) : tensor<?x?x?x64xf32> -> [16] x [24]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [16] x [24], [16] x [24], [64]
  return %o : [64]
}

polyattn.attention @fpa_diagonal(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %g1: tensor<?x64xf32>, %g2: tensor<?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @diagonal(%q, %g1, %g2)
    : tensor<?x?x?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> [64] x [64]
  %phi_k = apply @diagonal(%k, %g1, %g2)
    : tensor<?x?x?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> [64] x [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [64] x [64], [64] x [64], [64]
  return %o : [64]
}

polyattn.attention @fpa_rank1(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %a1: tensor<?x64x1xf32>, %a2: tensor<?x64x1xf32>, %a3: tensor<?x64x1xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @directions(%q, %a1, %a2, %a3)
    : tensor<?x?x?x64xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32> -> [1]
  %phi_k = apply @directions(%k, %a1, %a2, %a3)
    : tensor<?x?x?x64xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32> -> [1]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [1], [1], [64]
  return %o : [64]
}
