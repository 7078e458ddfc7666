// Keys of the gradients of queries are values that stand side by side: attends have one structure on both sides.
// case: B=1 T=31 Tk=31 H=3 Hkv=1 N=0 seed=610 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=backward calls= tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80
polyattn.attention @attention(%q0: tensor<?x?x?x33xbf16>, %k1: tensor<?x?x?x33xbf16>, %v2: tensor<?x?x?x5xbf16>)
    -> (out13: tensor<?x?x?x11xbf16>, state14: tensor<?x?x33x11xf32>, state15: tensor<?x?x33xf32>) {
  %r5 = read %q0 : tensor<?x?x?x33xbf16> -> [33]
  %r6 = read %k1 : tensor<?x?x?x33xbf16> -> [33]
  %r8 = read %v2 : tensor<?x?x?x5xbf16> -> [5]
  %p9_1 = abs %r8 : [5]
  %p9_2 = constant {value = 1.0, width = 1}
  %p9_3 = concat %p9_2, %r8, %p9_1 : [1], [5], [5]
  %o10, %fs11, %fz12 = attend query %r5 key %r6 value %p9_3 causal normalize <bias, bias = -5.000000e-01, min_denom = 1.000000e-03> {signed_scores, final_state, grouping = #polyattn.grouping<interleaved>} : [33], [33], [1] + [5] + [5]
  return %o10, %fs11, %fz12 : [11], tensor<?x?x33x11xf32>, tensor<?x?x33xf32>
}
