// case: B=2 T=65 Tk=65 H=2 Hkv=1 seed=788 inputs=normal padded=0 threads=3 segments=0 invariant=0 tile=0 invalid=0 targets=x86-64-v3
polyattn.feature_map @map3(%x0: [17], %w0: 5, %w1: 17x4) {
  %y1 = rope %x0, %w0 {layout = #polyattn.rope_layout<interleaved>, dims = 10, offset = 5.000000e-01, scale = 1.000000e+00} : [17], 5
  %y2 = relu %y1 : [17]
  %y3 = project %x0, %w1 : [17], 17x4
  %y4 = select %y1 {indices = array<i64: 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4>} : [17]
  yield %y4 : [19]
}

polyattn.attention @attention(%q0: tensor<?x?x?x17xf32>, %k1: tensor<?x?x?x17xf32>, %v2: tensor<?x?x?x4xf32>, %w4: tensor<5xf32>, %w5: tensor<17x4xf32>, %s10: tensor<?x?x19x4xf32>)
    -> (out12: tensor<?x?x?x4xf32>) {
  %a6 = apply @map3(%q0, %w4, %w5) : tensor<?x?x?x17xf32>, tensor<5xf32>, tensor<17x4xf32> -> [19]
  %a7 = apply @map3(%k1, %w4, %w5) : tensor<?x?x?x17xf32>, tensor<5xf32>, tensor<17x4xf32> -> [19]
  %r8 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o11 = attend query %a6 key %a7 value %r8 initial %s10 causal normalize <none, reduce = mean> {grouping = #polyattn.grouping<block>} : [19], [19], [4], tensor<?x?x19x4xf32>
  return %o11 : [4]
}
