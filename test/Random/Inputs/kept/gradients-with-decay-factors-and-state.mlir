// Heads of a state's gradients are as many as those of its list of decay factors.
// case: B=1 T=20 Tk=20 H=3 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=backward calls= tile=0 invalid=0 targets=tile,x86-64,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x33xf32>, %k1: tensor<?x?x?x33xf32>, %v2: tensor<?x?x?x33xf32>)
    -> (out11: tensor<?x?x?x33xf32>, state12: tensor<?x?x33x33xf32>) {
  %r3 = read %q0 : tensor<?x?x?x33xf32> -> [33]
  %r5 = read %k1 : tensor<?x?x?x33xf32> -> [33]
  %r7 = read %v2 : tensor<?x?x?x33xf32> -> [33]
  %o9, %fs10 = attend query %r3 key %r5 value %r7 causal normalize <none> {gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 9.900000e-01>, score_scale = 5.000000e-01, final_state, grouping = #polyattn.grouping<block>} : [33], [33], [33]
  return %o9, %fs10 : [33], tensor<?x?x33x33xf32>
}
