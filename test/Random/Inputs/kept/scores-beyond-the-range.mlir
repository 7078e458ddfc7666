// Scores beyond the range, which their decays would bring back, beside values that are zero.
// case: B=2 T=257 Tk=257 H=1 Hkv=1 seed=958 inputs=normal padded=0 threads=1 segments=0 tile=0 invalid=0 targets=x86-64-v3
polyattn.attention @attention(%q0: tensor<?x?x?x33xf32>, %k1: tensor<?x?x?x33xf32>, %v2: tensor<?x?x?x4xf32>)
    -> (out11: tensor<?x?x?x4xf32>, state12: tensor<?x?x1x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x33xf32> -> [33]
  %p4_1 = squared_norm %r3 : [33]
  %p4_2 = select %p4_1 {indices = array<i64: 0, 0>} : [1]
  %p4_3 = elu_plus_one %p4_1 : [1]
  %p4_4 = exp %p4_3 : [1]
  %r5 = read %k1 : tensor<?x?x?x33xf32> -> [33]
  %p6_1 = squared_norm %r5 : [33]
  %p6_2 = select %p6_1 {indices = array<i64: 0, 0>} : [1]
  %p6_3 = elu_plus_one %p6_1 : [1]
  %p6_4 = exp %p6_3 : [1]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %p8_1 = relu %r7 : [4]
  %o9, %fs10 = attend query %p4_4 key %p6_4 value %p8_1 causal normalize <none> {gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 1.000000e-03>, final_state, grouping = #polyattn.grouping<block>} : [1], [1], [4]
  return %o9, %fs10 : [4], tensor<?x?x1x4xf32>
}
