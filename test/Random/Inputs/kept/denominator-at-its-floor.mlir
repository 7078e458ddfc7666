// A denominator whose terms cancel is at its least magnitude: which side it is on is a matter of rounding.
// case: B=1 T=3 Tk=3 H=2 Hkv=1 seed=861 inputs=small padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=tile,cpu,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x17xf32>, %k1: tensor<?x?x?x17xf32>, %v2: tensor<?x?x?x2xf32>, %w9: tensor<17x2xf32>, %s16: tensor<?x?x17x2xf32>, %z17: tensor<?x?x17xf32>)
    -> (out19: tensor<?x?x?x2xf32>) {
  %r3 = read %q0 : tensor<?x?x?x17xf32> -> [17]
  %r5 = read %k1 : tensor<?x?x?x17xf32> -> [17]
  %r7 = read %v2 : tensor<?x?x?x2xf32> -> [2]
  %r10 = read %q0 : tensor<?x?x?x17xf32> -> [17]
  %wr11 = read %w9 : tensor<17x2xf32> -> 17x2
  %p12_1 = project %r10, %wr11 : [17], 17x2
  %r13 = read %k1 : tensor<?x?x?x17xf32> -> [17]
  %wr14 = read %w9 : tensor<17x2xf32> -> 17x2
  %p15_1 = project %r13, %wr14 : [17], 17x2
  %o18 = attend query %r3 key %r5 value %r7 local %p12_1, %p15_1 initial %s16 initial_normalizer %z17 causal normalize <bias, bias = 1.000000e+00, eps = 1.000000e-03, min_denom = 1.000000e-03> {block = 8 : i64, signed_scores, grouping = #polyattn.grouping<block>} : [17], [17], [2], [2], [2], tensor<?x?x17x2xf32>, tensor<?x?x17xf32>
  return %o18 : [2]
}
