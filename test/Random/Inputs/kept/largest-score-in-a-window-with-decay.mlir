// The same beside a decay and another attend with local vectors.
// case: B=1 T=64 Tk=64 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_80
polyattn.feature_map @map3(%x0: [4], %w0: 4x1) {
  %y1 = tanh %x0 : [4]
  %y2 = add_const %y1 {value = 1.250000e+00} : [4]
  %y3 = project %y2, %w0 : [4], 4x1
  %y4 = relu %y3 : [1]
  %y5 = concat %y4, %y4 : [1], [1]
  yield %y5 : [1] + [1]
}

polyattn.feature_map @map11(%x0: [4], %x1: [4]) {
  yield %x0 : [4]
}

polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %w4: tensor<4x1xf32>, %table13: tensor<?x1x4xf32>, %table16: tensor<?x?x4xf32>, %g19: tensor<?xf32>, %q21: tensor<?x?x?x2xf32>, %k22: tensor<?x?x?x2xf32>, %v23: tensor<?x?x?x17xf32>)
    -> (out31: tensor<?x?x?x17xf32>) {
  %r5 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %a6 = apply @map3(%r5, %w4) : [4], tensor<4x1xf32> -> [1] + [1]
  %r7 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %a8 = apply @map3(%r7, %w4) : [4], tensor<4x1xf32> -> [1] + [1]
  %r9 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %r12 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r14 = read %table13 : tensor<?x1x4xf32> -> [4]
  %a15 = apply @map11(%r12, %r14) : [4], [4] -> [4]
  %r17 = read %table16 : tensor<?x?x4xf32> -> [4]
  %a18 = apply @map11(%k1, %r17) : tensor<?x?x?x4xf32>, [4] -> [4]
  %o20 = attend query %a6 key %a8 value %r9 local %a15, %a18 decay %g19 causal normalize <none> {block = 33 : i64, gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>} : [1] + [1], [1] + [1], [4], [4], [4], tensor<?xf32>
  %r24 = read %q21 : tensor<?x?x?x2xf32> -> [2]
  %r26 = read %k22 : tensor<?x?x?x2xf32> -> [2]
  %r28 = read %v23 : tensor<?x?x?x17xf32> -> [17]
  %o30 = attend query %r24 key %r26 value %r28 decay %g19 causal normalize <sum, eps = 1.000000e+00, eps_mode = row_max> {gate_heads = #polyattn.gate_heads<q>, signed_scores, window = 2 : i64, grouping = #polyattn.grouping<block>} : [2], [2], [17], tensor<?xf32>
  return %o30 : [17]
}
