// Sums of features that cancel to as little as those of 16 bits are off by, over themselves and a small bias: 1, unless the sum is zero.
// case: B=1 T=257 Tk=1 H=2 Hkv=1 N=0 seed=432 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x7xbf16>, %k1: tensor<?x?x?x7xbf16>, %v2: tensor<?x?x?x4xbf16>)
    -> (out10: tensor<?x?x?x4xbf16>) {
  %r3 = read %q0 : tensor<?x?x?x7xbf16> -> [7]
  %p4 = tensor %r3, %r3 : [7], [7]
  %r5 = read %k1 : tensor<?x?x?x7xbf16> -> [7]
  %p6 = tensor %r5, %r5 : [7], [7]
  %r7 = read %v2 : tensor<?x?x?x4xbf16> -> [4]
  %o9 = attend query %p4 key %p6 value %r7 full normalize <bias, bias = 1.000000e-03> {grouping = #polyattn.grouping<block>, signed_scores} : [7] x [7], [7] x [7], [4]
  return %o9 : [4]
}
