// A block of 32 at the end of a local kernel's run of 33 was taken for the last one, whose update nobody reads.
// case: B=1 T=69 Tk=69 H=3 Hkv=3 N=0 seed=212 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=0 invalid=0 targets=tile,cpu,x86-64-v3
polyattn.attention @attention(%q0: tensor<?x?x?x33xf32>, %k1: tensor<?x?x?x33xf32>, %v2: tensor<?x?x?x16xf32>)
    -> (out27: tensor<?x?x?x16xf32>, out28: tensor<?x?x?x16xf32>) {
  %r18 = read %q0 : tensor<?x?x?x33xf32> -> [33]
  %r20 = read %k1 : tensor<?x?x?x33xf32> -> [33]
  %r22 = read %v2 : tensor<?x?x?x16xf32> -> [16]
  %p = sin %r18 : [33]
  %l = sin %r20 : [33]
  %o17 = attend query %r18 key %r20 value %r22 local %p, %l causal normalize <none, reduce = mean> {block = 33 : i64, grouping = #polyattn.grouping<block>} : [33], [33], [16], [33], [33]
  %o24 = attend query %r18 key %r20 value %r22 causal normalize <none> {decay_factors = array<f64: 9.000000e-01, 9.900000e-01, 1.000000e-03>, grouping = #polyattn.grouping<block>} : [33], [33], [16]
  return %o17, %o24 : [16], [16]
}
