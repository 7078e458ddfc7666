// At the end of a call a window's state takes in keys of the ring, then keys of the call: two loops that carry it. Its
// memory was free where the first of them began, and what that loop gave was written there.
// case: B=3 T=5 Tk=2 H=1 Hkv=1 N=0 seed=3 inputs=mixed padded=0 threads=1 segments=0 invariant=1 direction=decode state_every=0 calls=65 wrt= accumulate=0 tile=0 invalid=0 targets=emulator-sm_80,emulator-sm_90,cpu,tile
polyattn.attention @attention(%q0: tensor<?x?x?x3xf32>, %k1: tensor<?x?x?x3xf32>, %v2: tensor<?x?x?x3xf32>, %w7: tensor<?x3xf32>)
    -> (out16: tensor<?x?x?x9xf32>) {
  %r3 = read %q0 : tensor<?x?x?x3xf32> -> [3]
  %r5 = read %k1 : tensor<?x?x?x3xf32> -> [3]
  %r8 = read %v2 : tensor<?x?x?x3xf32> -> [3]
  %wr9 = read %w7 : tensor<?x3xf32> -> 3
  %p10_1 = add_vec %r8, %wr9 : [3], 3
  %p10_2 = tensor %p10_1, %r8 : [3], [3]
  %r11 = read %q0 : tensor<?x?x?x3xf32> -> [3]
  %r13 = read %k1 : tensor<?x?x?x3xf32> -> [3]
  %o15 = attend query %r3 key %r5 value %p10_2 local %r11, %r13 causal normalize <none> {block = 128 : i64, sliding, grouping = #polyattn.grouping<interleaved>} : [3], [3], [3] x [3], [3], [3]
  return %o15 : [9]
}
