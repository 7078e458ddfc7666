// A barrier was missing between two uses of shared memory whose layouts had one name.
// case: B=3 T=64 Tk=65 H=6 Hkv=2 seed=340 inputs=normal padded=0 threads=1 segments=0 tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x17xf32>, %k1: tensor<?x?x?x17xf32>, %v2: tensor<?x?x?x8xf32>, %w3: tensor<17x1xf32>, %w4: tensor<1xf32>, %w5: tensor<17x4xf32>, %w6: tensor<4x16xf32>, %w7: tensor<1x8xf32>, %w8: tensor<8xf32>, %s27: tensor<?x?x8x8xf32>, %z28: tensor<?x?x8xf32>, %w30: tensor<3xf32>)
    -> (out32: tensor<?x?x?x8xf32>, out33: tensor<?x?x?x8xf32>) {
  %r9 = read %q0 : tensor<?x?x?x17xf32> -> [17]
  %wr10 = read %w3 : tensor<17x1xf32> -> 17x1
  %wr11 = read %w4 : tensor<1xf32> -> 1
  %wr12 = read %w5 : tensor<17x4xf32> -> 17x4
  %wr13 = read %w6 : tensor<4x16xf32> -> 4x16
  %wr14 = read %w7 : tensor<1x8xf32> -> 1x8
  %wr15 = read %w8 : tensor<8xf32> -> 8
  %p16_1 = project %r9, %wr10, %wr11 : [17], 17x1, 1
  %p16_2 = sigmoid %p16_1 : [1]
  %p16_3 = project %r9, %wr12 : [17], 17x4
  %p16_4 = project %p16_3, %wr13 : [4], 4x16
  %p16_5 = project %p16_2, %wr14, %wr15 : [1], 1x8, 8
  %r17 = read %k1 : tensor<?x?x?x17xf32> -> [17]
  %wr18 = read %w3 : tensor<17x1xf32> -> 17x1
  %wr19 = read %w4 : tensor<1xf32> -> 1
  %wr20 = read %w5 : tensor<17x4xf32> -> 17x4
  %wr21 = read %w6 : tensor<4x16xf32> -> 4x16
  %wr22 = read %w7 : tensor<1x8xf32> -> 1x8
  %wr23 = read %w8 : tensor<8xf32> -> 8
  %p24_1 = project %r17, %wr18, %wr19 : [17], 17x1, 1
  %p24_2 = sigmoid %p24_1 : [1]
  %p24_3 = project %r17, %wr20 : [17], 17x4
  %p24_4 = project %p24_3, %wr21 : [4], 4x16
  %p24_5 = project %p24_2, %wr22, %wr23 : [1], 1x8, 8
  %r25 = read %v2 : tensor<?x?x?x8xf32> -> [8]
  %o29 = attend query %p16_5 key %p24_5 value %r25 initial %s27 initial_normalizer %z28 causal normalize <sum, eps = 1.000000e-01, guard_below = 1.000000e-03, guard_add = 5.000000e-01> {score_scale = 5.000000e-01, signed_scores, grouping = #polyattn.grouping<interleaved>} : [8], [8], [8], tensor<?x?x8x8xf32>, tensor<?x?x8xf32>
  %wr31 = read %w30 : tensor<3xf32> -> 3
  %f1 = clamp_min %o29 {value = -1.000000e+00} : [8]
  %f2 = l2_rescale %o29, %o29 : [8], [8]
  %f3 = rope %f1, %wr31 {layout = #polyattn.rope_layout<deinterleave>, dims = 6, offset = 3.000000e+00, scale = -1.000000e+00} : [8], 3
  return %o29, %f3 : [8], [8]
}
