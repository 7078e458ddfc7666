// The same with many keys: all have the one sine of the f32 that is nearest to pi, which no random change gives.
// case: B=1 T=257 Tk=257 H=2 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=x86-64-v3
polyattn.attention @attention(%q0: tensor<?x?x?x2xf32>, %k1: tensor<?x?x?x2xf32>, %v2: tensor<?x?x?x4xf32>, %w3: tensor<?x1xf32>, %w4: tensor<?x1xf32>)
    -> (out16: tensor<?x?x?x4xf32>) {
  %r5 = read %q0 : tensor<?x?x?x2xf32> -> [2]
  %wr6 = read %w3 : tensor<?x1xf32> -> 1
  %wr7 = read %w4 : tensor<?x1xf32> -> 1
  %p8_1 = sin %r5 : [2]
  %p8_2 = add %r5, %p8_1 : [2], [2]
  %p8_3 = sin %p8_2 : [2]
  %p8_4 = add %p8_2, %p8_3 : [2], [2]
  %p8_5 = sin %p8_4 : [2]
  %p8_6 = add %p8_4, %p8_5 : [2], [2]
  %p8_7 = sin %p8_6 : [2]
  %p8_8 = add %p8_6, %p8_7 : [2], [2]
  %p8_9 = sin %p8_8 : [2]
  %p8_10 = add %p8_8, %p8_9 : [2], [2]
  %p8_11 = sin %p8_10 : [2]
  %p8_12 = add %p8_10, %p8_11 : [2], [2]
  %p8_13 = sin %p8_12 : [2]
  %p8_14 = add %p8_12, %p8_13 : [2], [2]
  %p8_15 = sin %p8_14 : [2]
  %p8_16 = add %p8_14, %p8_15 : [2], [2]
  %p8_17 = rope %p8_15, %wr6 {layout = #polyattn.rope_layout<half>, dims = 2, offset = 0.000000e+00, scale = 1.000000e+00} : [2], 1
  %p8_18 = elu_plus_one %p8_15 : [2]
  %p8_19 = rope %p8_17, %wr7 {layout = #polyattn.rope_layout<interleaved>, dims = 2, offset = 0.000000e+00, scale = 2.500000e-01} : [2], 1
  %r9 = read %k1 : tensor<?x?x?x2xf32> -> [2]
  %wr10 = read %w3 : tensor<?x1xf32> -> 1
  %wr11 = read %w4 : tensor<?x1xf32> -> 1
  %p12_1 = sin %r9 : [2]
  %p12_2 = add %r9, %p12_1 : [2], [2]
  %p12_3 = sin %p12_2 : [2]
  %p12_4 = add %p12_2, %p12_3 : [2], [2]
  %p12_5 = sin %p12_4 : [2]
  %p12_6 = add %p12_4, %p12_5 : [2], [2]
  %p12_7 = sin %p12_6 : [2]
  %p12_8 = add %p12_6, %p12_7 : [2], [2]
  %p12_9 = sin %p12_8 : [2]
  %p12_10 = add %p12_8, %p12_9 : [2], [2]
  %p12_11 = sin %p12_10 : [2]
  %p12_12 = add %p12_10, %p12_11 : [2], [2]
  %p12_13 = sin %p12_12 : [2]
  %p12_14 = add %p12_12, %p12_13 : [2], [2]
  %p12_15 = sin %p12_14 : [2]
  %p12_16 = add %p12_14, %p12_15 : [2], [2]
  %p12_17 = rope %p12_15, %wr10 {layout = #polyattn.rope_layout<half>, dims = 2, offset = 0.000000e+00, scale = 1.000000e+00} : [2], 1
  %p12_18 = elu_plus_one %p12_15 : [2]
  %p12_19 = rope %p12_17, %wr11 {layout = #polyattn.rope_layout<interleaved>, dims = 2, offset = 0.000000e+00, scale = 2.500000e-01} : [2], 1
  %r13 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o15 = attend query %p8_19 key %p12_19 value %r13 anticausal normalize <sum, eps = 1.000000e-03, eps_mode = row_max> {gate_heads = #polyattn.gate_heads<q>, decay_factors = array<f64: 1.000000e-03, 1.000000e+00>, signed_scores, window = 65 : i64, grouping = #polyattn.grouping<block>} : [2], [2], [4]
  return %o15 : [4]
}
