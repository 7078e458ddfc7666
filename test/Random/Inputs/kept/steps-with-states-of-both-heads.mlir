// A step updates states where they live: not one that query heads share whose other states are their own.
// case: B=2 T=21 Tk=21 H=9 Hkv=3 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=decode calls=3,1,16 tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x16xf32>, %k1: tensor<?x?x?x16xf32>, %v2: tensor<?x?x?x2xf32>, %g9: tensor<?xf32>, %q11: tensor<?x?x?x2xf32>, %k12: tensor<?x?x?x2xf32>, %v13: tensor<?x?x?x4xf32>, %s20: tensor<?x?x2x4xf32>, %z21: tensor<?x?x2xf32>)
    -> (out23: tensor<?x?x?x2xf32>, out24: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x16xf32> -> [16]
  %r5 = read %k1 : tensor<?x?x?x16xf32> -> [16]
  %r7 = read %v2 : tensor<?x?x?x2xf32> -> [2]
  %o10 = attend query %r3 key %r5 value %r7 decay %g9 causal normalize <none> {gate_heads = #polyattn.gate_heads<q>, score_scale = 2.000000e+00, grouping = #polyattn.grouping<block>} : [16], [16], [2], tensor<?xf32>
  %r14 = read %q11 : tensor<?x?x?x2xf32> -> [2]
  %r16 = read %k12 : tensor<?x?x?x2xf32> -> [2]
  %r18 = read %v13 : tensor<?x?x?x4xf32> -> [4]
  %o22 = attend query %r14 key %r16 value %r18 initial %s20 initial_normalizer %z21 causal normalize <sum, eps = 1.000000e+00, reduce = mean, min_denom = 2.000000e+00> {signed_scores, grouping = #polyattn.grouping<block>} : [2], [2], [4], tensor<?x?x2x4xf32>, tensor<?x?x2xf32>
  return %o10, %o22 : [2], [4]
}
