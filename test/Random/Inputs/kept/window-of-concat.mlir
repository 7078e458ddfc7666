// Windows of features of a concatenation, beside an attend with gates.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 seed=0 inputs=normal padded=0 threads=1 segments=0 tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x8xf32>, %k1: tensor<?x?x?x8xf32>, %v2: tensor<?x?x?x4xf32>, %w3: tensor<8x4xf32>, %g12: tensor<?x?x?xf32>)
    -> (out23: tensor<?x?x?x4xf32>, out24: tensor<?x?x?x4xf32>, state25: tensor<?x?x45x4xf32>, state26: tensor<?x?x45xf32>) {
  %r4 = read %q0 : tensor<?x?x?x8xf32> -> [8]
  %wr5 = read %w3 : tensor<8x4xf32> -> 8x4
  %p6_1 = project %r4, %wr5 : [8], 8x4
  %r7 = read %k1 : tensor<?x?x?x8xf32> -> [8]
  %wr8 = read %w3 : tensor<8x4xf32> -> 8x4
  %p9_1 = project %r7, %wr8 : [8], 8x4
  %r10 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o13 = attend query %p6_1 key %p9_1 value %r10 decay %g12 causal normalize <sum, eps = 1.000000e-01> {gate_heads = #polyattn.gate_heads<kv>, score_scale = 1.250000e-01, signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4], tensor<?x?x?xf32>
  %r14 = read %q0 : tensor<?x?x?x8xf32> -> [8]
  %p15_1 = softmax %r14 {groups = 4} : [8]
  %p15_2 = triu %r14, %r14 {weights = #polyattn.triu_weights<none>} : [8], [8]
  %p15_3 = scale %p15_2 {factor = 1.250000e-01} : [36]
  %p15_4 = constant {value = 1.0, width = 1}
  %p15_5 = concat %p15_4, %p15_1, %p15_3 : [1], [8], [36]
  %r16 = read %k1 : tensor<?x?x?x8xf32> -> [8]
  %p17_1 = softmax %r16 {groups = 4} : [8]
  %p17_2 = triu %r16, %r16 {weights = #polyattn.triu_weights<none>} : [8], [8]
  %p17_3 = scale %p17_2 {factor = 1.250000e-01} : [36]
  %p17_4 = constant {value = 1.0, width = 1}
  %p17_5 = concat %p17_4, %p17_1, %p17_3 : [1], [8], [36]
  %r18 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o20, %fs21, %fz22 = attend query %p15_5 key %p17_5 value %r18 causal normalize <sum, eps = 1.000000e-01> {signed_scores, final_state, grouping = #polyattn.grouping<block>} : [1] + [8] + [36], [1] + [8] + [36], [4]
  return %o13, %o20, %fs21, %fz22 : [4], [4], tensor<?x?x45x4xf32>, tensor<?x?x45xf32>
}
