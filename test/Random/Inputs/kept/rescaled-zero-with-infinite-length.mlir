// A zero vector stays zero, whatever the length that it gets.
// case: B=1 T=3 Tk=3 H=2 Hkv=2 N=0 seed=0 inputs=empty padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=tile
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %w10: tensor<4xf32>)
    -> (out20: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o9 = attend query %r3 key %r5 value %r7 causal normalize <none> {gate_heads = #polyattn.gate_heads<kv>, decay_factors = array<f64: 9.000000e-01, 5.000000e-01>, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  %r11 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %wr12 = read %w10 : tensor<4xf32> -> 4
  %p13_1 = div_vec %r11, %wr12 : [4], 4
  %p13_2 = l2_rescale %r11, %p13_1 : [4], [4]
  %r14 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %wr15 = read %w10 : tensor<4xf32> -> 4
  %p16_1 = div_vec %r14, %wr15 : [4], 4
  %p16_2 = l2_rescale %r14, %p16_1 : [4], [4]
  %r17 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o19 = attend query %p13_2 key %p16_2 value %r17 causal normalize <none> {grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o19 : [4]
}
