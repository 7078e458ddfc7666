// A token's query reads the state of the token before: each feature of it has decayed.
// case: B=4 T=130 Tk=257 H=1 Hkv=1 N=0 seed=303 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=decode state_every=0 calls=2,1 wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_80
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x7xf32>, %g9: tensor<?x?x?x12xf32>)
    -> (out11: tensor<?x?x?x7xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %p4_1 = power %r3 {degree = 2, symmetric, block = 2} : [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %p6_1 = power %r5 {degree = 2, symmetric, block = 2} : [4]
  %r7 = read %v2 : tensor<?x?x?x7xf32> -> [7]
  %o10 = attend query %p4_1 key %p6_1 value %r7 decay %g9 causal normalize <bias, bias = 5.000000e-01, eps = 1.000000e-03> {gate_heads = #polyattn.gate_heads<kv>, signed_scores, grouping = #polyattn.grouping<block>} : sym 2 block 2 [4], sym 2 block 2 [4], [7], tensor<?x?x?x12xf32>
  return %o10 : [7]
}
