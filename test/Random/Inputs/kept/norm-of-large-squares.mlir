// A layer norm of numbers whose deviations have squares beyond the range.
// case: B=1 T=257 Tk=257 H=3 Hkv=3 N=0 seed=109 inputs=mixed padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=cpu
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x3xf32>, %w11: tensor<3xf32>, %w13: tensor<3xf32>)
    -> (out15: tensor<?x?x?x3xf32>, out16: tensor<?x?x?x3xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %p7_1 = exp %r5 : [4]
  %r8 = read %v2 : tensor<?x?x?x3xf32> -> [3]
  %o10 = attend query %r3 key %p7_1 value %r8 causal normalize <none> {grouping = #polyattn.grouping<block>} : [4], [4], [3]
  %wr12 = read %w11 : tensor<3xf32> -> 3
  %wr14 = read %w13 : tensor<3xf32> -> 3
  %f1 = relu %o10 : [3]
  %f2 = hadamard %f1, %f1 : [3], [3]
  %f3 = layer_norm %f2, %wr12, %wr14 {eps = 1.000000e-05, eps_place = #polyattn.eps_place<outside>} : [3], 3, 3
  return %o10, %f3 : [3], [3]
}
