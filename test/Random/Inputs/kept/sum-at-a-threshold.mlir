// Some sums are 0.001, below which the normalizer adds 0.5: whether they are depends on the last digit.
// case: B=1 T=129 Tk=129 H=4 Hkv=2 seed=271 inputs=small padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_80
polyattn.feature_map @map3(%x0: [2]) {
  yield %x0 : [2]
}

polyattn.feature_map @map12(%x0: [2]) {
  yield %x0 : [2]
}

polyattn.attention @attention(%q0: tensor<?x?x?x2xf32>, %k1: tensor<?x?x?x2xf32>, %v2: tensor<?x?x?x4xf32>, %q9: tensor<?x?x?x2xf32>, %k10: tensor<?x?x?x2xf32>, %v11: tensor<?x?x?x16xf32>)
    -> (out18: tensor<?x?x?x16xf32>) {
  %a4 = apply @map3(%q0) : tensor<?x?x?x2xf32> -> [2]
  %a5 = apply @map3(%k1) : tensor<?x?x?x2xf32> -> [2]
  %r6 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o8 = attend query %a4 key %a5 value %r6 causal normalize <bias, bias = -5.000000e-01, eps = 1.000000e-03, min_denom = 2.000000e+00> {gate_heads = #polyattn.gate_heads<q>, decay_factors = array<f64: 5.000000e-01, 9.900000e-01, 9.000000e-01, 1.000000e-03>, score_scale = -1.000000e+00, signed_scores, grouping = #polyattn.grouping<block>} : [2], [2], [4]
  %a13 = apply @map12(%q9) : tensor<?x?x?x2xf32> -> [2]
  %a14 = apply @map12(%k10) : tensor<?x?x?x2xf32> -> [2]
  %r15 = read %v11 : tensor<?x?x?x16xf32> -> [16]
  %o17 = attend query %a13 key %a14 value %r15 causal normalize <sum, eps = 1.000000e+00, eps_mode = row_max, guard_below = 1.000000e-03, guard_add = 5.000000e-01, min_denom = 1.000000e-03> {score_scale = 1.000000e-03, signed_scores, grouping = #polyattn.grouping<block>} : [2], [2], [16]
  return %o17 : [16]
}
