// A denominator of whole numbers that cancel but for the last bits: nobody knows what is divided by.
// case: B=1 T=257 Tk=257 H=1 Hkv=1 seed=599 inputs=small padded=0 threads=1 segments=0 tile=0 invalid=0 targets=tile
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %w3: tensor<4x1xf32>, %table5: tensor<?x1x4xf32>, %table10: tensor<?x1x4xf32>)
    -> (out24: tensor<?x?x?x4xf32>) {
  %r4 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r6 = read %table5 : tensor<?x1x4xf32> -> [4]
  %wr7 = read %w3 : tensor<4x1xf32> -> 4x1
  %p8_2 = relu %r6 : [4]
  %p8_3 = project %p8_2, %wr7 : [4], 4x1
  %r9 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r11 = read %table10 : tensor<?x1x4xf32> -> [4]
  %wr12 = read %w3 : tensor<4x1xf32> -> 4x1
  %p13_2 = relu %r11 : [4]
  %p13_3 = project %p13_2, %wr12 : [4], 4x1
  %r14 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o16 = attend query %p8_3 key %p13_3 value %r14 causal normalize <sum, eps = 1.000000e-06, min_denom = 5.000000e-01> {gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 9.000000e-01>, signed_scores, grouping = #polyattn.grouping<block>} : [1], [1], [4]
  %r17 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r19 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r21 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o23 = attend query %r17 key %r19 value %r21 causal normalize <bias, bias = 1.000000e-03> {score_scale = 1.000000e-03, signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o23 : [4]
}
