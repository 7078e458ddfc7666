// Tokens that fill a block each, one by one: a state took in the second block as if the first had not come.
// case: B=2 T=5 Tk=65 H=2 Hkv=1 N=0 seed=2 inputs=empty padded=0 threads=3 segments=0 invariant=0 direction=decode state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64-v3
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %table4: tensor<?x1x4xf32>, %table8: tensor<?x1x4xf32>, %table15: tensor<?x1x4xf32>, %table19: tensor<?x1x4xf32>)
    -> (out23: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %table4 : tensor<?x1x4xf32> -> [4]
  %r7 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r9 = read %table8 : tensor<?x1x4xf32> -> [4]
  %p11_1 = tanh %r7 : [4]
  %r12 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %r14 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r16 = read %table15 : tensor<?x1x4xf32> -> [4]
  %r18 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r20 = read %table19 : tensor<?x1x4xf32> -> [4]
  %o22 = attend query %r3 key %p11_1 value %r12 local %r14, %r18 causal normalize <sum, eps = 1.000000e-06, min_denom = 2.000000e+00> {block = 1 : i64, gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 9.000000e-01>, signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4], [4], [4]
  return %o22 : [4]
}
