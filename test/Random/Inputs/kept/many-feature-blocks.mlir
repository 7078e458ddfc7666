// A head has more blocks of features than a choice may have parts.
// case: B=1 T=4 Tk=4 H=1 Hkv=1 seed=545 inputs=normal padded=0 threads=2 segments=0 invariant=0 tile=0 invalid=0 targets=cpu
polyattn.attention @attention(%q0: tensor<?x?x?x17xbf16>, %k1: tensor<?x?x?x17xbf16>, %v2: tensor<?x?x?x2xbf16>, %w3: tensor<17xbf16>, %g12: tensor<?x?x?xf32>)
    -> (out14: tensor<?x?x?x2xf32>) {
  %r4 = read %q0 : tensor<?x?x?x17xbf16> -> [17]
  %wr5 = read %w3 : tensor<17xbf16> -> 17
  %p6_1 = div_vec %r4, %wr5 : [17], 17
  %p6_2 = power 5 %r4 {symmetric} : [17]
  %p6_3 = tensor %p6_2, %r4 : sym 5 [17], [17]
  %r7 = read %k1 : tensor<?x?x?x17xbf16> -> [17]
  %wr8 = read %w3 : tensor<17xbf16> -> 17
  %p9_1 = div_vec %r7, %wr8 : [17], 17
  %p9_2 = power 5 %r7 {symmetric} : [17]
  %p9_3 = tensor %p9_2, %r7 : sym 5 [17], [17]
  %r10 = read %v2 : tensor<?x?x?x2xbf16> -> [2]
  %o13 = attend query %p6_3 key %p9_3 value %r10 decay %g12 causal normalize <sum, eps = 1.000000e-03> {gate_heads = #polyattn.gate_heads<kv>, signed_scores, schedule = #polyattn.schedule<form = both, diagonal = scores, block = 4, feature_block = 1, quadratic_below = 0, short_blocks = [2]>, grouping = #polyattn.grouping<block>} : sym 5 [17] x [17], sym 5 [17] x [17], [2], tensor<?x?x?xf32>
  return %o13 : [2]
}
