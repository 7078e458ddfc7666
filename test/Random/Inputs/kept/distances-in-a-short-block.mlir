// A short call is one block, which has more distances than the blocks of longer calls.
// case: B=1 T=60 Tk=60 H=2 Hkv=2 N=0 seed=3 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=forward state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64,x86-64-v3
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x5xf32>, %t3: tensor<?x7xf32>)
    -> (out4: tensor<?x?x?x5xf32>, out5: tensor<?x?x?x5xf32>) {
  %a = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %b = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %c = read %v2 : tensor<?x?x?x5xf32> -> [5]
  %t = read %t3 : tensor<?x7xf32> -> 7
  %r = relative %t {beyond = last, log} : 7
  %x = tensor %r, %a : [1], [4]
  %y = tensor %r, %b : [1], [4]
  %o = attend query %x key %y value %c causal normalize <none> {schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 64, quadratic_below = 0, short_blocks = [64]>, grouping = #polyattn.grouping<block>} : [1] x [4], [1] x [4], [5]
  %p = attend query %x key %y value %c causal normalize <none> {grouping = #polyattn.grouping<block>} : [1] x [4], [1] x [4], [5]
  return %o, %p : [5], [5]
}
