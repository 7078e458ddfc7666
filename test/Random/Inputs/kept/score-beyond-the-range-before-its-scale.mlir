// A score beyond the range that its scale would bring back: as good as out of range, where the scale comes after the score.
// case: B=3 T=127 Tk=127 H=3 Hkv=3 N=0 seed=194 inputs=mixed padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=cpu
polyattn.feature_map @map23(%x0: [1]) {
  %y1 = power 8 %x0 {symmetric} : [1]
  %y2 = triu %y1, %y1 {weights = #polyattn.triu_weights<none>} : sym 8 [1], sym 8 [1]
  yield %y2 : [1]
}

polyattn.attention @attention(%q0: tensor<?x?x?x1xf32>, %k1: tensor<?x?x?x1xf32>, %v2: tensor<?x?x?x1xf32>, %w3: tensor<1x7xf32>, %w12: tensor<1x33xf32>, %g19: tensor<?x?x?xf32>, %g29: tensor<?x?x?xf32>, %w31: tensor<1x33xf32>, %w33: tensor<33xf32>, %w35: tensor<33x17xf32>)
    -> (out37: tensor<?x?x?x1xf32>, out38: tensor<?x?x?x17xf32>, state39: tensor<?x?x7x1xf32>, state40: tensor<?x?x7xf32>) {
  %r4 = read %q0 : tensor<?x?x?x1xf32> -> [1]
  %wr5 = read %w3 : tensor<1x7xf32> -> 1x7
  %p6_1 = project %r4, %wr5 : [1], 1x7
  %r7 = read %k1 : tensor<?x?x?x1xf32> -> [1]
  %wr8 = read %w3 : tensor<1x7xf32> -> 1x7
  %p9_1 = project %r7, %wr8 : [1], 1x7
  %r10 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %r13 = read %q0 : tensor<?x?x?x1xf32> -> [1]
  %wr14 = read %w12 : tensor<1x33xf32> -> 1x33
  %p15_1 = project %r13, %wr14 : [1], 1x33
  %r16 = read %k1 : tensor<?x?x?x1xf32> -> [1]
  %wr17 = read %w12 : tensor<1x33xf32> -> 1x33
  %p18_1 = project %r16, %wr17 : [1], 1x33
  %o20, %fs21, %fz22 = attend query %p6_1 key %p9_1 value %r10 local %p15_1, %p18_1 decay %g19 causal normalize <sum, eps = 1.000000e-01> {block = 128 : i64, gate_heads = #polyattn.gate_heads<q>, signed_scores, final_state, grouping = #polyattn.grouping<interleaved>} : [7], [7], [1], [33], [33], tensor<?x?x?xf32>
  %a24 = apply @map23(%q0) : tensor<?x?x?x1xf32> -> [1]
  %r25 = read %k1 : tensor<?x?x?x1xf32> -> [1]
  %a26 = apply @map23(%r25) : [1] -> [1]
  %r27 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %o30 = attend query %a24 key %a26 value %r27 decay %g29 causal normalize <bias, bias = 5.000000e-01> {gate_heads = #polyattn.gate_heads<kv>, score_scale = 1.000000e-03, signed_scores, schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 32, feature_block = 12, quadratic_below = 0>, grouping = #polyattn.grouping<interleaved>} : [1], [1], [1], tensor<?x?x?xf32>
  %wr32 = read %w31 : tensor<1x33xf32> -> 1x33
  %wr34 = read %w33 : tensor<33xf32> -> 33
  %wr36 = read %w35 : tensor<33x17xf32> -> 33x17
  %f2 = elu_plus_one %o30 : [1]
  %f3 = project %o20, %wr32, %wr34 : [1], 1x33, 33
  %f4 = project %f3, %wr36 : [33], 33x17
  return %o30, %f4, %fs21, %fz22 : [1], [17], tensor<?x?x7x1xf32>, tensor<?x?x7xf32>
}
