// What a loop without iterations would have formed of the query was read behind it.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %w3: tensor<4x1xf32>)
    -> (out13: tensor<?x?x?x4xf32>) {
  %r4 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %wr5 = read %w3 : tensor<4x1xf32> -> 4x1
  %p6_1 = project %r4, %wr5 : [4], 4x1
  %r7 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %wr8 = read %w3 : tensor<4x1xf32> -> 4x1
  %p9_1 = project %r7, %wr8 : [4], 4x1
  %r10 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o12 = attend query %p6_1 key %p9_1 value %r10 causal normalize <none> {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 16, feature_block = 16, quadratic_below = 0, segment = 16>, grouping = #polyattn.grouping<block>} : [1], [1], [4]
  return %o12 : [4]
}
