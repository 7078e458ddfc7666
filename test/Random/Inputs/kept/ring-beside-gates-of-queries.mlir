// Programs of query heads, which another attend's gates ask for, all wrote the ring of the key head that they share.
// case: B=2 T=5 Tk=0 H=6 Hkv=3 N=0 seed=809 inputs=normal padded=1 threads=1 segments=2 invariant=0 direction=decode state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x5xf32>, %g3: tensor<?x?x?x4xf32>, %q4: tensor<?x?x?x1xf32>, %k5: tensor<?x?x?x1xf32>, %v6: tensor<?x?x?x3xf32>)
    -> (out7: tensor<?x?x?x5xf32>, out8: tensor<?x?x?x3xf32>) {
  %r0 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r1 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r2 = read %v2 : tensor<?x?x?x5xf32> -> [5]
  %o0 = attend query %r0 key %r1 value %r2 decay %g3 causal normalize <none> {gate_heads = #polyattn.gate_heads<q>, signed_scores, grouping = #polyattn.grouping<interleaved>} : [4], [4], [5], tensor<?x?x?x4xf32>
  %r4 = read %q4 : tensor<?x?x?x1xf32> -> [1]
  %r5 = read %k5 : tensor<?x?x?x1xf32> -> [1]
  %r6 = read %v6 : tensor<?x?x?x3xf32> -> [3]
  %o1 = attend query %r4 key %r5 value %r6 causal normalize <none> {signed_scores, window = 64 : i64, grouping = #polyattn.grouping<interleaved>} : [1], [1], [3]
  return %o0, %o1 : [5], [3]
}
