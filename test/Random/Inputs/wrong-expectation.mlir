// A valid program of which the case says that it must be refused.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 seed=1 inputs=normal padded=1 threads=1 segments=0 tile=0 invalid=1 targets=tile
polyattn.attention @attention(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %rq = read %q : tensor<?x?x?x4xf32> -> [4]
  %rk = read %k : tensor<?x?x?x4xf32> -> [4]
  %rv = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %rq key %rk value %rv causal normalize <none> {grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o : [4]
}
