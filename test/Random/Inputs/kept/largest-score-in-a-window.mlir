// A pair outside of a window had the weight 0 in the largest score of its row, whose scores are negative.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>)
    -> (out10: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o9 = attend query %r3 key %r5 value %r7 full normalize <sum, eps = 1.000000e-03, eps_mode = row_max> {signed_scores, window = 1 : i64, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o9 : [4]
}
