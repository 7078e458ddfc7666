// What is left reads no sequence but the gradient, which is f32 where tables are not.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=gradient_states state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=
polyattn.attention @attention(%q0: tensor<?x?x?x4xbf16>, %k1: tensor<?x?x?x4xbf16>, %v2: tensor<?x?x?x4xbf16>, %table4: tensor<?x1x4xbf16>, %table8: tensor<?x1x4xbf16>)
    -> (out14: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xbf16> -> [4]
  %r5 = read %table4 : tensor<?x1x4xbf16> -> [4]
  %p6_2 = relu %r5 : [4]
  %r7 = read %k1 : tensor<?x?x?x4xbf16> -> [4]
  %r9 = read %table8 : tensor<?x1x4xbf16> -> [4]
  %p10_2 = relu %r9 : [4]
  %r11 = read %v2 : tensor<?x?x?x4xbf16> -> [4]
  %o13 = attend query %p6_2 key %p10_2 value %r11 causal normalize <none> {grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o13 : [4]
}
