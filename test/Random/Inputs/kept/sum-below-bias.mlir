// A sum of scores that f32 cannot tell from the bias, beside a guard that adds as much: a denominator of 1e-13 in f64 is 0.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=x86-64
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>)
    -> (out10: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %p4_1 = scale %r3 {factor = 1.000000e-06} : [4]
  %p4_2 = relu %p4_1 : [4]
  %p4_3 = select %p4_2 {indices = array<i64: 0>} : [4]
  %p4_4 = select %p4_3 {indices = array<i64: 0>} : [1]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %p6_1 = scale %r5 {factor = 1.000000e-06} : [4]
  %p6_2 = relu %p6_1 : [4]
  %p6_3 = select %p6_2 {indices = array<i64: 0>} : [4]
  %p6_4 = select %p6_3 {indices = array<i64: 0>} : [1]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o9 = attend query %p4_4 key %p6_4 value %r7 full normalize <bias, bias = -5.000000e-01, guard_below = 1.000000e-03, guard_add = 5.000000e-01> {grouping = #polyattn.grouping<block>} : [1], [1], [4]
  return %o9 : [4]
}
