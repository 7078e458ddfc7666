// A sum of a difference and a small term was formed term by term, so that a layer norm of one element lost the other gradient.
// case: B=1 T=1 Tk=1 H=2 Hkv=1 N=0 seed=242 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=backward state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x33xf32>, %k1: tensor<?x?x?x33xf32>, %v2: tensor<?x?x?x1xf32>, %w12: tensor<1xf32>, %w14: tensor<1xf32>)
    -> (out16: tensor<?x?x?x1xf32>, out17: tensor<?x?x?x1xf32>, state18: tensor<?x?x33x1xf32>, state19: tensor<?x?x33xf32>) {
  %r3 = read %q0 : tensor<?x?x?x33xf32> -> [33]
  %p4_1 = add %r3, %r3 : [33], [33]
  %r5 = read %k1 : tensor<?x?x?x33xf32> -> [33]
  %p6_1 = add %r5, %r5 : [33], [33]
  %r7 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %o9, %fs10, %fz11 = attend query %p4_1 key %p6_1 value %r7 causal normalize <bias, bias = 3.000000e+00, reduce = mean> {signed_scores, final_state, grouping = #polyattn.grouping<block>} : [33], [33], [1]
  %wr13 = read %w12 : tensor<1xf32> -> 1
  %wr15 = read %w14 : tensor<1xf32> -> 1
  %f1 = layer_norm %o9, %wr13, %wr15 {eps = 1.000000e-12, eps_place = #polyattn.eps_place<outside>} : [1], 1, 1
  return %o9, %f1, %fs10, %fz11 : [1], [1], tensor<?x?x33x1xf32>, tensor<?x?x33xf32>
}
