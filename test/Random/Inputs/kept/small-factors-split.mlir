// Scores are so small that the second number of tf32, into which a product of f32 is split on a GPU, has few digits.
// case: B=1 T=127 Tk=127 H=3 Hkv=3 seed=529 inputs=mixed padded=0 threads=1 segments=0 invariant=1 tile=0 invalid=0 targets=tile-sm_80,x86-64,emulator-sm_90
polyattn.feature_map @map3(%x0: [2]) {
  %y1 = power 5 %x0 {symmetric} : [2]
  %y2 = squared_norm %y1 : sym 5 [2]
  yield %y2 : [1]
}

polyattn.attention @attention(%q0: tensor<?x?x?x2xf32>, %k1: tensor<?x?x?x2xf32>, %v2: tensor<?x?x?x5xf32>)
    -> (out10: tensor<?x?x?x5xf32>) {
  %a4 = apply @map3(%q0) : tensor<?x?x?x2xf32> -> [1]
  %r5 = read %k1 : tensor<?x?x?x2xf32> -> [2]
  %a6 = apply @map3(%r5) : [2] -> [1]
  %r7 = read %v2 : tensor<?x?x?x5xf32> -> [5]
  %o9 = attend query %a4 key %a6 value %r7 causal normalize <sum, eps = 1.000000e-01> {grouping = #polyattn.grouping<block>} : [1], [1], [5]
  return %o9 : [5]
}
