// The gradient of a zero vector that gets the length of another: zero times numbers whose product left the range.
// case: B=1 T=64 Tk=64 H=1 Hkv=1 N=0 seed=30 inputs=small padded=1 threads=1 segments=0 invariant=0 direction=backward state_every=0 calls= tile=0 invalid=0 targets=x86-64-v3
polyattn.attention @attention(%q0: tensor<?x?x?x16xf32>, %k1: tensor<?x?x?x16xf32>, %v2: tensor<?x?x?x4xf32>, %w3: tensor<4xf32>, %w17: tensor<16x8xf32>)
    -> (out27: tensor<?x?x?x4xf32>) {
  %r4 = read %q0 : tensor<?x?x?x16xf32> -> [16]
  %wr5 = read %w3 : tensor<4xf32> -> 4
  %p6_1 = rope %r4, %wr5 {layout = #polyattn.rope_layout<interleaved>, dims = 8, offset = 5.000000e-01, scale = -1.000000e+00} : [16], 4
  %r7 = read %k1 : tensor<?x?x?x16xf32> -> [16]
  %wr8 = read %w3 : tensor<4xf32> -> 4
  %p9_1 = rope %r7, %wr8 {layout = #polyattn.rope_layout<interleaved>, dims = 8, offset = 5.000000e-01, scale = -1.000000e+00} : [16], 4
  %r10 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %r12 = read %q0 : tensor<?x?x?x16xf32> -> [16]
  %r14 = read %k1 : tensor<?x?x?x16xf32> -> [16]
  %o16 = attend query %p6_1 key %p9_1 value %r10 local %r12, %r14 causal normalize <none> {block = 64 : i64, grouping = #polyattn.grouping<block>} : [16], [16], [4], [16], [16]
  %r18 = read %q0 : tensor<?x?x?x16xf32> -> [16]
  %wr19 = read %w17 : tensor<16x8xf32> -> 16x8
  %p20_1 = project %r18, %wr19 : [16], 16x8
  %p20_2 = l2_rescale %p20_1, %r18 : [8], [16]
  %r21 = read %k1 : tensor<?x?x?x16xf32> -> [16]
  %wr22 = read %w17 : tensor<16x8xf32> -> 16x8
  %p23_1 = project %r21, %wr22 : [16], 16x8
  %p23_2 = l2_rescale %p23_1, %r21 : [8], [16]
  %r24 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o26 = attend query %p20_2 key %p23_2 value %r24 causal normalize <none> {grouping = #polyattn.grouping<block>} : [8], [8], [4]
  return %o26 : [4]
}
