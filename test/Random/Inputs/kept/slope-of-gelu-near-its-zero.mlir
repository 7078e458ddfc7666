// The two terms of the slope of gelu cancel near -0.75, where each of them is rounded.
// case: B=2 T=129 Tk=129 H=1 Hkv=1 N=0 seed=71 inputs=normal padded=0 threads=1 segments=0 invariant=1 direction=backward state_every=0 calls= tile=0 invalid=0 targets=tile,cpu,x86-64-v3,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x1xf32>, %k1: tensor<?x?x?x1xf32>, %v2: tensor<?x?x?x2xf32>)
    -> (out10: tensor<?x?x?x3xf32>) {
  %r3 = read %q0 : tensor<?x?x?x1xf32> -> [1]
  %p4_1 = gelu %r3 {form = #polyattn.gelu_form<erf>} : [1]
  %r5 = read %k1 : tensor<?x?x?x1xf32> -> [1]
  %p6_1 = gelu %r5 {form = #polyattn.gelu_form<erf>} : [1]
  %r7 = read %v2 : tensor<?x?x?x2xf32> -> [2]
  %p8_1 = l2_rescale %r7, %r7 : [2], [2]
  %p8_2 = triu %r7, %r7 {weights = #polyattn.triu_weights<none>} : [2], [2]
  %o9 = attend query %p4_1 key %p6_1 value %p8_2 causal normalize <sum, eps = 1.000000e+00> {signed_scores, grouping = #polyattn.grouping<block>} : [1], [1], [3]
  return %o9 : [3]
}
