// Tokens that go one by one in one program had the first one's decay of each feature.
// case: B=1 T=3 Tk=3 H=2 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=decode state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64-v3
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %g9: tensor<?x?x?x4xf32>)
    -> (out11: tensor<?x?x?x4xf32>, out12: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o10 = attend query %r3 key %r5 value %r7 decay %g9 causal normalize <sum, eps = 1.000000e-06> {gate_heads = #polyattn.gate_heads<kv>, signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4], tensor<?x?x?x4xf32>
  return %o10, %o10 : [4], [4]
}
