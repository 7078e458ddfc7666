// The length of a vector whose squares are below f64's range, which f32 does not hold at all.
// case: B=1 T=64 Tk=64 H=1 Hkv=1 N=0 seed=477 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x1xf32>)
    -> (out10: tensor<?x?x?x1xf32>, out11: tensor<?x?x?x2xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %p4_1 = scale %r3 {factor = 3.000000e+00} : [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %p6_1 = scale %r5 {factor = 3.000000e+00} : [4]
  %r7 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %o9 = attend query %p4_1 key %p6_1 value %r7 full normalize <none> {grouping = #polyattn.grouping<block>} : [4], [4], [1]
  %f1 = elu_plus_one %o9 : [1]
  %f2 = concat %f1, %f1 : [1], [1]
  %f3 = l2_rescale %f2, %o9 : [1] + [1], [1]
  return %o9, %f3 : [1], [2]
}
