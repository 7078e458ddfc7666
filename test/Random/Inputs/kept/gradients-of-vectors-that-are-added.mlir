// Gradients of two vectors that are added to one are equal: one op, whose sum is two results, and was taken twice.
// case: B=1 T=40 Tk=40 H=2 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=backward state_every=16 calls= tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80
polyattn.feature_map @map3(%x0: [4], %w0: 16x3, %w1: 3, %w2: 3) {
  %y1 = tensor %x0, %x0 : [4], [4]
  %y2 = project %y1, %w0, %w1 : [4] x [4], 16x3, 3
  %y3 = add_vec %y2, %w2 : [3], 3
  yield %y3 : [3]
}

polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %w4: tensor<16x3xf32>, %w5: tensor<3xf32>, %w6: tensor<3xf32>)
    -> (out13: tensor<?x?x?x4xf32>) {
  %a7 = apply @map3(%q0, %w4, %w5, %w6) : tensor<?x?x?x4xf32>, tensor<16x3xf32>, tensor<3xf32>, tensor<3xf32> -> [3]
  %r8 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %a9 = apply @map3(%r8, %w4, %w5, %w6) : [4], tensor<16x3xf32>, tensor<3xf32>, tensor<3xf32> -> [3]
  %r10 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o12 = attend query %a7 key %a9 value %r10 causal normalize <bias, bias = 1.000000e-03, eps = 1.000000e-03, reduce = mean> {signed_scores, grouping = #polyattn.grouping<block>} : [3], [3], [4]
  return %o12 : [4]
}
