// What a group of query heads has of the state before them counts once in the gradient of its gate.
// case: B=1 T=3 Tk=3 H=2 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=backward calls= tile=0 invalid=0 targets=tile,x86-64,emulator-sm_90
polyattn.feature_map @map23(%x0: [4]) {
  yield %x0 : [4]
}

polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %q10: tensor<?x?x?x4xf32>, %k11: tensor<?x?x?x4xf32>, %v12: tensor<?x?x?x4xf32>, %g19: tensor<?x?x?xf32>, %s20: tensor<?x?x4x8xf32>, %z21: tensor<?x?x4xf32>)
    -> (out29: tensor<?x?x?x8xf32>, out30: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o9 = attend query %r3 key %r5 value %r7 causal normalize <none> {grouping = #polyattn.grouping<block>} : [4], [4], [4]
  %r13 = read %q10 : tensor<?x?x?x4xf32> -> [4]
  %r15 = read %k11 : tensor<?x?x?x4xf32> -> [4]
  %r17 = read %v12 : tensor<?x?x?x4xf32> -> [4]
  %p18_1 = concat %r17, %r17 : [4], [4]
  %p18_2 = concat %r17, %r17 : [4], [4]
  %o22 = attend query %r13 key %r15 value %p18_2 decay %g19 initial %s20 initial_normalizer %z21 causal normalize <sum, eps = 1.000000e-06> {gate_heads = #polyattn.gate_heads<kv>, signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4] + [4], tensor<?x?x?xf32>, tensor<?x?x4x8xf32>, tensor<?x?x4xf32>
  %a24 = apply @map23(%q10) : tensor<?x?x?x4xf32> -> [4]
  %a25 = apply @map23(%k11) : tensor<?x?x?x4xf32> -> [4]
  %r26 = read %v12 : tensor<?x?x?x4xf32> -> [4]
  %o28 = attend query %a24 key %a25 value %r26 causal normalize <bias, bias = 3.000000e+00, min_denom = 2.000000e+00> {gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 1.000000e-03>, signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o22, %o28 : [8], [4]
}
