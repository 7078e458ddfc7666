// A norm of elements that are all alike: what is left of them is as their mean is rounded, to either side of 0.
// case: B=1 T=129 Tk=129 H=2 Hkv=2 N=0 seed=0 inputs=small padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80
polyattn.attention @attention(%q0: tensor<?x?x?x3xf32>, %k1: tensor<?x?x?x3xf32>, %v2: tensor<?x?x?x1xf32>)
    -> (out10: tensor<?x?x?x1xf32>, out11: tensor<?x?x?x1xf32>) {
  %r3 = read %q0 : tensor<?x?x?x3xf32> -> [3]
  %p4_1 = layer_norm %r3 {eps = 1.000000e-05, eps_place = #polyattn.eps_place<outside>} : [3]
  %p4_2 = relu %p4_1 : [3]
  %r5 = read %k1 : tensor<?x?x?x3xf32> -> [3]
  %p6_1 = layer_norm %r5 {eps = 1.000000e-05, eps_place = #polyattn.eps_place<outside>} : [3]
  %p6_2 = relu %p6_1 : [3]
  %r7 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %o9 = attend query %p4_2 key %p6_2 value %r7 full normalize <none> {grouping = #polyattn.grouping<block>} : [3], [3], [1]
  %f1 = tensor %o9, %o9 : [1], [1]
  %f2 = relu %o9 : [1]
  return %o9, %f2 : [1], [1]
}
