// Calls of few positions were one block, whose pairs all took local scores: those of two local blocks, too.
// case: B=1 T=9 Tk=9 H=1 Hkv=1 seed=0 inputs=normal padded=0 threads=1 segments=0 tile=0 invalid=0 targets=tile,cpu,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %table4: tensor<?x1x4xf32>, %table8: tensor<?x1x4xf32>)
    -> (out18: tensor<?x?x?x4xf32>, out19: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %table4 : tensor<?x1x4xf32> -> [4]
  %p6_2 = relu %r5 : [4]
  %r7 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r9 = read %table8 : tensor<?x1x4xf32> -> [4]
  %p10_2 = relu %r9 : [4]
  %r11 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %r13 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r15 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %o17 = attend query %p6_2 key %p10_2 value %r11 local %r13, %r15 causal normalize <sum, eps = 1.000000e-06, min_denom = 5.000000e-01> {block = 8 : i64, signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4], [4], [4]
  %f1 = gelu %o17 {form = #polyattn.gelu_form<tanh>} : [4]
  return %o17, %f1 : [4], [4]
}
