// States that a forward call keeps are of scaled values: rows of queries do not carry the scale a second time.
// case: B=1 T=75 Tk=75 H=6 Hkv=2 N=0 seed=445 inputs=normal padded=0 threads=1 segments=3 invariant=0 direction=backward state_every=32 calls= tile=0 invalid=0 targets=tile,cpu,x86-64-v3,emulator-sm_80
polyattn.feature_map @map3(%x0: [4], %w0: 4) {
  %y1 = div_vec %x0, %w0 : [4], 4
  yield %y1 : [4]
}

polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %w4: tensor<?x4xf32>, %table8: tensor<?x?x4xf32>)
    -> (out12: tensor<?x?x?x4xf32>) {
  %a5 = apply @map3(%q0, %w4) : tensor<?x?x?x4xf32>, tensor<?x4xf32> -> [4]
  %a6 = apply @map3(%k1, %w4) : tensor<?x?x?x4xf32>, tensor<?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %r9 = read %table8 : tensor<?x?x4xf32> -> [4]
  %p10_2 = select %r9 {indices = array<i64: 0, 3, 2, 1, 0>} : [4]
  %p10_3 = scale %r7 {factor = -5.000000e-01} : [4]
  %o11 = attend query %a5 key %a6 value %p10_3 causal normalize <none> {gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 5.000000e-01, 9.000000e-01>, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o11 : [4]
}
