// Exponents of a softmax are powers of degree 8: each of them is rounded, and lies far from 0.
// case: B=2 T=65 Tk=65 H=4 Hkv=2 N=0 seed=836 inputs=resets padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=tile,cpu,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x2xf32>, %k1: tensor<?x?x?x2xf32>, %v2: tensor<?x?x?x1xf32>)
    -> (out10: tensor<?x?x?x1xf32>, out11: tensor<?x?x?x3xf32>) {
  %r3 = read %q0 : tensor<?x?x?x2xf32> -> [2]
  %p4_1 = power 8 %r3 {symmetric} : [2]
  %p4_2 = select %r3 {indices = array<i64: 0, 0>} : [2]
  %p4_3 = softmax %p4_1 {groups = 1} : sym 8 [2]
  %r5 = read %k1 : tensor<?x?x?x2xf32> -> [2]
  %p6_1 = power 8 %r5 {symmetric} : [2]
  %p6_2 = select %r5 {indices = array<i64: 0, 0>} : [2]
  %p6_3 = softmax %p6_1 {groups = 1} : sym 8 [2]
  %r7 = read %v2 : tensor<?x?x?x1xf32> -> [1]
  %o9 = attend query %p4_3 key %p6_3 value %r7 causal normalize <sum, eps = 1.000000e-06, eps_mode = row_max> {grouping = #polyattn.grouping<block>} : [9], [9], [1]
  %f1 = select %o9 {indices = array<i64: 0, 0, 0>} : [1]
  return %o9, %f1 : [1], [3]
}
