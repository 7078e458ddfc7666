// case: B=1 T=257 Tk=257 H=2 Hkv=1 seed=321 inputs=resets padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=emulator-sm_90
polyattn.feature_map @map3(%x0: [16], %x1: [16]) {
  %y2 = softmax %x1 {groups = 4} : [16]
  yield %y2 : [16]
}

polyattn.attention @attention(%q0: tensor<?x?x?x16xbf16>, %k1: tensor<?x?x?x16xbf16>, %v2: tensor<?x?x?x3xbf16>, %table4: tensor<?x1x16xbf16>, %table7: tensor<?x1x16xbf16>, %g12: tensor<?xf32>, %s13: tensor<?x?x16x3xf32>, %z14: tensor<?x?x16xf32>)
    -> (out18: tensor<?x?x?x3xbf16>, state19: tensor<?x?x16x3xf32>, state20: tensor<?x?x16xf32>) {
  %r5 = read %table4 : tensor<?x1x16xbf16> -> [16]
  %a6 = apply @map3(%q0, %r5) : tensor<?x?x?x16xbf16>, [16] -> [16]
  %r8 = read %table7 : tensor<?x1x16xbf16> -> [16]
  %a9 = apply @map3(%k1, %r8) : tensor<?x?x?x16xbf16>, [16] -> [16]
  %r10 = read %v2 : tensor<?x?x?x3xbf16> -> [3]
  %o15, %fs16, %fz17 = attend query %a6 key %a9 value %r10 decay %g12 initial %s13 initial_normalizer %z14 causal normalize <bias, bias = 1.000000e-03> {gate_heads = #polyattn.gate_heads<q>, final_state, grouping = #polyattn.grouping<block>} : [16], [16], [3], tensor<?xf32>, tensor<?x?x16x3xf32>, tensor<?x?x16xf32>
  return %o15, %fs16, %fz17 : [3], tensor<?x?x16x3xf32>, tensor<?x?x16xf32>
}
