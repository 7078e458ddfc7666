// A call of no positions is no short call: it has no row that loads could take instead of those past the end.
// case: B=1 T=0 Tk=0 H=1 Hkv=1 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=tile,cpu,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>)
    -> (out10: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %p4_1 = relu %r3 : [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %p6_1 = relu %r5 : [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o9 = attend query %p4_1 key %p6_1 value %r7 causal normalize <sum, eps = 1.000000e-06> {gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 9.000000e-01>, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 16, quadratic_below = 0, short_blocks = [16, 32]>, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o9 : [4]
}
