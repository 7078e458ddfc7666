// Squares of one score, whose features and states have 16 bits each in numerator and denominator: these are off by different parts of what is left.
// case: B=1 T=257 Tk=1 H=2 Hkv=1 N=0 seed=432 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x16xbf16>, %k1: tensor<?x?x?x16xbf16>, %v2: tensor<?x?x?x8xbf16>)
    -> (out10: tensor<?x?x?x8xbf16>) {
  %r3 = read %q0 : tensor<?x?x?x16xbf16> -> [16]
  %p4_1 = tensor %r3, %r3 : [16], [16]
  %r5 = read %k1 : tensor<?x?x?x16xbf16> -> [16]
  %p6_1 = tensor %r5, %r5 : [16], [16]
  %r7 = read %v2 : tensor<?x?x?x8xbf16> -> [8]
  %o9 = attend query %p4_1 key %p6_1 value %r7 full normalize <bias, bias = 1.000000e-03> {signed_scores, grouping = #polyattn.grouping<block>} : [16] x [16], [16] x [16], [8]
  return %o9 : [8]
}
