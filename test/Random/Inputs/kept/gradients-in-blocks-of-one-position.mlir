// Gradients of squares in blocks of one position: rows of one number were written a whole vector at a time.
// case: B=1 T=33 Tk=33 H=1 Hkv=1 N=0 seed=733 inputs=resets padded=1 threads=1 segments=0 invariant=1 direction=backward state_every=0 calls= tile=0 invalid=0 targets=cpu
polyattn.feature_map @map3(%x0: [4]) {
  yield %x0 : [4]
}

polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %g13: tensor<?xf32>, %q15: tensor<?x?x?x17xf32>, %k16: tensor<?x?x?x17xf32>, %v17: tensor<?x?x?x1xf32>, %w25: tensor<4xf32>)
    -> (out27: tensor<?x?x?x1xf32>, out28: tensor<?x?x?x4xf32>) {
  %a4 = apply @map3(%q0) : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %a6 = apply @map3(%r5) : [4] -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %r9 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r11 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %o14 = attend query %a4 key %a6 value %r7 local %r9, %r11 decay %g13 causal normalize <none> {block = 1 : i64, gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>} : [4], [4], [4], [4], [4], tensor<?xf32>
  %r18 = read %q15 : tensor<?x?x?x17xf32> -> [17]
  %p19_1 = power 2 %r18 : [17]
  %r20 = read %k16 : tensor<?x?x?x17xf32> -> [17]
  %p21_1 = power 2 %r20 : [17]
  %r22 = read %v17 : tensor<?x?x?x1xf32> -> [1]
  %o24 = attend query %p19_1 key %p21_1 value %r22 causal normalize <none> {grouping = #polyattn.grouping<block>} : pow 2 [17], pow 2 [17], [1]
  %wr26 = read %w25 : tensor<4xf32> -> 4
  %f2 = div_vec %o14, %wr26 : [4], 4
  return %o24, %f2 : [1], [4]
}
