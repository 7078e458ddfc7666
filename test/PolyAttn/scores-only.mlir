// What has scores but no running state: odd powers of |score|, an eps relative to the row's largest
// score, powers too wide to be formed.
// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s

// |<a, a'> <b, b'>|: the magnitude of a product is its first power.
polyattn.feature_map @magnitude(%x: [64], %w1: 64x8, %w2: 64x12) {
  %a = project %x, %w1 : [64], 64x8
  %b = project %x, %w2 : [64], 64x12
  %ab = tensor %a, %b : [8], [12]
  %phi = power 1 %ab {abs} : [8] x [12]
  yield %phi : pow 1 ([8] x [12])
}

// CHECK-LABEL: polyattn.attention @fpa_magnitude
polyattn.attention @fpa_magnitude(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w1: tensor<64x8xf32>, %w2: tensor<64x12xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %a = apply @magnitude(%q, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<64x8xf32>, tensor<64x12xf32> -> pow 1 ([8] x [12])
  %b = apply @magnitude(%k, %w1, %w2)
    : tensor<?x?x?x64xf32>, tensor<64x8xf32>, tensor<64x12xf32> -> pow 1 ([8] x [12])
  %c = read %v : tensor<?x?x?x64xf32> -> [64]
  // CHECK: causal normalize <sum, eps = 1.0e-6, eps_mode = row_max>
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-6, eps_mode = row_max>
    : pow 1 ([8] x [12]), pow 1 ([8] x [12]), [64]
  return %o : [64]
}
