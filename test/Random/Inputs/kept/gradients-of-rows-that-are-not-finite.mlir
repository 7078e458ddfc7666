// Rows whose denominator is zero: their gradients are not finite, and reach no key behind them in its block.
// case: B=3 T=106 Tk=106 H=1 Hkv=1 N=0 seed=87 inputs=small padded=0 threads=1 segments=0 invariant=0 direction=backward state_every=0 calls= tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>)
    -> (out10: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o9 = attend query %r3 key %r5 value %r7 causal normalize <bias, bias = 3.000000e+00> {signed_scores, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o9 : [4]
}
