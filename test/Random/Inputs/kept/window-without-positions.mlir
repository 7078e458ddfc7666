// A batch without positions in a call whose window reaches into calls before: a load found no row to take.
// case: B=2 T=5 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=decode state_every=0 calls=5,33,65 wrt= accumulate=0 tile=0 invalid=0 targets=emulator-sm_90
polyattn.feature_map @map3(%x0: [4], %w0: 4x1) {
  %y1 = project %x0, %w0 : [4], 4x1
  yield %y1 : [1]
}

polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x1xf32>, %w4: tensor<4x1xf32>)
    -> (out12: tensor<?x?x?x1xf32>) {
  %r5 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %a6 = apply @map3(%r5, %w4) : [4], tensor<4x1xf32> -> [1]
  %r7 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %a8 = apply @map3(%r7, %w4) : [4], tensor<4x1xf32> -> [1]
  %r9 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %o11 = attend query %a6 key %a8 value %r9 causal normalize <sum, eps = 1.000000e-06> {signed_scores, window = 16 : i64, grouping = #polyattn.grouping<interleaved>} : [1], [1], [1]
  return %o11 : [1]
}
