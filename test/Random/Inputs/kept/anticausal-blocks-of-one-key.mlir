// A block of one key, and it and the keys after it: a row of sums of an upper triangle, whose columns are not rows.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>)
    -> (out14: tensor<?x?x?x4xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %r9 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r11 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %o13 = attend query %r3 key %r5 value %r7 local %r9, %r11 anticausal normalize <none> {block = 1 : i64, grouping = #polyattn.grouping<block>} : [4], [4], [4], [4], [4]
  return %o13 : [4]
}
