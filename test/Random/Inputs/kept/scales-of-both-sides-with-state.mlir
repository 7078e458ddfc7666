// The factors of both sides, which are weights of features, are numbers of f32, their product is not.
// case: B=1 T=2 Tk=2 H=1 Hkv=1 seed=6 inputs=mixed padded=0 threads=2 segments=0 invariant=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_90
polyattn.feature_map @map3(%x0: [16]) {
  %y1 = scale %x0 {factor = 1.000000e-03} : [16]
  %y2 = pow %y1 {exponent = 7.000000e+00} : [16]
  yield %y2 : [16]
}

polyattn.attention @attention(%q0: tensor<?x?x?x16xf32>, %k1: tensor<?x?x?x16xf32>, %v2: tensor<?x?x?x33xf32>)
    -> (out9: tensor<?x?x?x33xf32>, state: tensor<?x?x16x33xf32>) {
  %a4 = apply @map3(%q0) : tensor<?x?x?x16xf32> -> [16]
  %a5 = apply @map3(%k1) : tensor<?x?x?x16xf32> -> [16]
  %r6 = read %v2 : tensor<?x?x?x33xf32> -> [33]
  %o8:2 = attend query %a4 key %a5 value %r6 causal normalize <none> {final_state, score_scale = 1.250000e-01, schedule = #polyattn.schedule<form = state, diagonal = features, block = 16, feature_block = 16, quadratic_below = 0>} : [16], [16], [33]
  return %o8#0, %o8#1 : [33], tensor<?x?x16x33xf32>
}
