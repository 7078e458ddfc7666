// Rows of a state of 3,876 features, whose sums round more than scores do: the running state is asked, too, before
// rows are called wrong.
// case: B=4 T=130 Tk=100 H=9 Hkv=3 N=0 seed=561 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=decode state_every=0 calls= tile=0 invalid=0 targets=x86-64
polyattn.feature_map @map3(%x0: [16]) {
  %y1 = sigmoid %x0 : [16]
  %y2 = gelu %y1 {form = #polyattn.gelu_form<erf>} : [16]
  %y3 = power 4 %x0 {abs} : [16]
  yield %y3 : pow 4 [16]
}

polyattn.attention @attention(%q0: tensor<?x?x?x16xf32>, %k1: tensor<?x?x?x16xf32>, %v2: tensor<?x?x?x1xf32>, %table13: tensor<?x?x1xf32>, %w15: tensor<1x3xf32>)
    -> (out17: tensor<?x?x?x1xf32>, out18: tensor<?x?x?x3xf32>) {
  %a4 = apply @map3(%q0) : tensor<?x?x?x16xf32> -> pow 4 [16]
  %a5 = apply @map3(%k1) : tensor<?x?x?x16xf32> -> pow 4 [16]
  %r6 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %r8 = read %q0 : tensor<?x?x?x16xf32> -> [16]
  %p9_1 = sin %r8 : [16]
  %p9_2 = select %p9_1 {indices = array<i64: 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3>} : [16]
  %r10 = read %k1 : tensor<?x?x?x16xf32> -> [16]
  %p11_1 = sin %r10 : [16]
  %p11_2 = select %p11_1 {indices = array<i64: 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3>} : [16]
  %o12 = attend query %a4 key %a5 value %r6 local %p9_2, %p11_2 causal normalize <none> {block = 5 : i64, grouping = #polyattn.grouping<block>} : pow 4 [16], pow 4 [16], [1], [14], [14]
  %r14 = read %table13 : tensor<?x?x1xf32> -> [1]
  %wr16 = read %w15 : tensor<1x3xf32> -> 1x3
  %f2 = project %r14, %wr16 : [1], 1x3
  return %o12, %f2 : [1], [3]
}
