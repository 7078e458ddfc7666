// Windows of 12 features end in no fragment of 16.
// case: B=1 T=129 Tk=129 H=1 Hkv=1 seed=0 inputs=normal padded=0 threads=1 segments=0 tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x7xf32>, %k1: tensor<?x?x?x7xf32>, %v2: tensor<?x?x?x4xf32>, %w3: tensor<1xf32>)
    -> (out13: tensor<?x?x?x4xf32>) {
  %r4 = read %q0 : tensor<?x?x?x7xf32> -> [7]
  %wr5 = read %w3 : tensor<1xf32> -> 1
  %p6_1 = gelu %r4 {form = #polyattn.gelu_form<tanh>} : [7]
  %p6_2 = rope %p6_1, %wr5 {layout = #polyattn.rope_layout<half>, dims = 2, offset = 0.000000e+00, scale = 1.000000e+00} : [7], 1
  %p6_3 = pow %p6_2 {exponent = 1.000000e+00} : [7]
  %p6_4 = triu %p6_1, %r4 {weights = #polyattn.triu_weights<sqrt2>} : [7], [7]
  %r7 = read %k1 : tensor<?x?x?x7xf32> -> [7]
  %wr8 = read %w3 : tensor<1xf32> -> 1
  %p9_1 = gelu %r7 {form = #polyattn.gelu_form<tanh>} : [7]
  %p9_2 = rope %p9_1, %wr8 {layout = #polyattn.rope_layout<half>, dims = 2, offset = 0.000000e+00, scale = 1.000000e+00} : [7], 1
  %p9_3 = pow %p9_2 {exponent = 1.000000e+00} : [7]
  %p9_4 = triu %p9_1, %r7 {weights = #polyattn.triu_weights<sqrt2>} : [7], [7]
  %r10 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o12 = attend query %p6_4 key %p9_4 value %r10 causal normalize <none, reduce = mean> {schedule = #polyattn.schedule<form = both, diagonal = scores, block = 64, feature_block = 12, quadratic_below = 129>, grouping = #polyattn.grouping<block>} : [28], [28], [4]
  return %o12 : [4]
}
