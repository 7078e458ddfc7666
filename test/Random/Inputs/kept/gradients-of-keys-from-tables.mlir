// Vectors of tables alone have the heads of their own results: those of keys in a sweep of keys, whatever else is returned.
// case: B=1 T=31 Tk=31 H=3 Hkv=1 N=0 seed=624 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=backward calls= tile=0 invalid=0 targets=tile,x86-64-v3,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x8xf32>, %k1: tensor<?x?x?x8xf32>, %v2: tensor<?x?x?x7xf32>, %g9: tensor<?xf32>, %q11: tensor<?x?x?x8xf32>, %k12: tensor<?x?x?x8xf32>, %v13: tensor<?x?x?x7xf32>, %t: tensor<?x?x8xf32>, %u: tensor<?x1x8xf32>) -> (o0: tensor<?x?x?x7xf32>, o1: tensor<?x?x?x7xf32>) {
  %r4 = read %q0 : tensor<?x?x?x8xf32> -> [8]
  %r6 = read %k1 : tensor<?x?x?x8xf32> -> [8]
  %r7 = read %v2 : tensor<?x?x?x7xf32> -> [7]
  %o10 = attend query %r4 key %r6 value %r7 decay %g9 causal normalize <none> {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>} : [8], [8], [7], tensor<?xf32>
  %a = read %t : tensor<?x?x8xf32> -> [8]
  %b = read %u : tensor<?x1x8xf32> -> [8]
  %r22 = read %v13 : tensor<?x?x?x7xf32> -> [7]
  %o24 = attend query %a key %b value %r22 causal normalize <none> {grouping = #polyattn.grouping<block>} : [8], [8], [7]
  return %o10, %o24 : [7], [7]
}
