// Sums of 33 rows beside a product of tensor cores, which a loop carries: what is behind them is read, too.
// case: B=1 T=15 Tk=15 H=1 Hkv=1 N=0 seed=1 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=emulator-sm_80
polyattn.attention @attention(%q0: tensor<?x?x?x17xbf16>, %k1: tensor<?x?x?x17xbf16>, %v2: tensor<?x?x?x17xbf16>, %w3: tensor<?x5xbf16>, %w4: tensor<?x17x33xbf16>)
    -> (out16: tensor<?x?x?x17xbf16>) {
  %r5 = read %q0 : tensor<?x?x?x17xbf16> -> [17]
  %wr6 = read %w3 : tensor<?x5xbf16> -> 5
  %wr7 = read %w4 : tensor<?x17x33xbf16> -> 17x33
  %p8_1 = rope %r5, %wr6 {layout = #polyattn.rope_layout<interleaved>, dims = 10, offset = -1.000000e+00, scale = -1.000000e+00} : [17], 5
  %p8_2 = project %p8_1, %wr7 : [17], 17x33
  %p8_3 = scale %p8_1 {factor = 1.000000e+01} : [17]
  %p8_4 = add %p8_3, %r5 : [17], [17]
  %r9 = read %k1 : tensor<?x?x?x17xbf16> -> [17]
  %wr10 = read %w3 : tensor<?x5xbf16> -> 5
  %wr11 = read %w4 : tensor<?x17x33xbf16> -> 17x33
  %p12_1 = rope %r9, %wr10 {layout = #polyattn.rope_layout<interleaved>, dims = 10, offset = -1.000000e+00, scale = -1.000000e+00} : [17], 5
  %p12_2 = project %p12_1, %wr11 : [17], 17x33
  %p12_3 = scale %p12_1 {factor = 1.000000e+01} : [17]
  %p12_4 = add %p12_3, %r9 : [17], [17]
  %r13 = read %v2 : tensor<?x?x?x17xbf16> -> [17]
  %o15 = attend query %p8_4 key %p12_4 value %r13 full normalize <sum, eps = 1.000000e-01> {signed_scores, schedule = #polyattn.schedule<form = state, diagonal = features, block = 33, feature_block = 1, quadratic_below = 0>, grouping = #polyattn.grouping<block>} : [17], [17], [17]
  return %o15 : [17]
}
