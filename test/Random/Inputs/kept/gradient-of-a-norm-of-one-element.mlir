// The gradient of a norm of one element is what two roundings of the same number leave.
// case: B=1 T=5 Tk=5 H=1 Hkv=1 N=0 seed=348 inputs=resets padded=0 threads=1 segments=0 invariant=0 direction=backward calls= tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80
polyattn.feature_map @map9(%x0: [1], %w0: 1, %w1: 1) {
  %y1 = mul_vec %x0, %w0 : [1], 1
  %y2 = layer_norm %x0, %w1 {eps = 1.000000e-05, eps_place = #polyattn.eps_place<inside>} : [1], 1
  yield %y2 : [1]
}

polyattn.attention @attention(%q0: tensor<?x?x?x1xf32>, %k1: tensor<?x?x?x1xf32>, %v2: tensor<?x?x?x16xf32>, %w10: tensor<1xf32>, %w11: tensor<1xf32>, %s16: tensor<?x?x1x16xf32>, %z17: tensor<?x?x1xf32>)
    -> (out19: tensor<?x?x?x16xf32>) {
  %r3 = read %q0 : tensor<?x?x?x1xf32> -> [1]
  %r5 = read %k1 : tensor<?x?x?x1xf32> -> [1]
  %r7 = read %v2 : tensor<?x?x?x16xf32> -> [16]
  %a12 = apply @map9(%q0, %w10, %w11) : tensor<?x?x?x1xf32>, tensor<1xf32>, tensor<1xf32> -> [1]
  %r13 = read %k1 : tensor<?x?x?x1xf32> -> [1]
  %a14 = apply @map9(%r13, %w10, %w11) : [1], tensor<1xf32>, tensor<1xf32> -> [1]
  %p15_1 = sigmoid %a14 : [1]
  %o18 = attend query %r3 key %r5 value %r7 local %a12, %p15_1 initial %s16 initial_normalizer %z17 causal normalize <bias, bias = 1.000000e-03, min_denom = 2.000000e+00> {block = 100 : i64, signed_scores, grouping = #polyattn.grouping<block>} : [1], [1], [16], [1], [1], tensor<?x?x1x16xf32>, tensor<?x?x1xf32>
  return %o18 : [16]
}
