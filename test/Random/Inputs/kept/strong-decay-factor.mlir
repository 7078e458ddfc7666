// A strong factor of one head took digits: decays were differences of sums.
// case: B=2 T=31 Tk=31 H=6 Hkv=2 seed=0 inputs=mixed padded=0 threads=1 segments=0 tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>)
    -> (out10: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o9 = attend query %r3 key %r5 value %r7 causal normalize <none> {gate_heads = #polyattn.gate_heads<q>, decay_factors = array<f64: 9.000000e-01, 9.000000e-01, 9.000000e-01, 9.000000e-01, 9.000000e-01, 1.000000e-03>, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o9 : [4]
}
