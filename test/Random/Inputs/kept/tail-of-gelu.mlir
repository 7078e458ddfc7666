// The tail of gelu is a difference: digits that no arithmetic of this width has were asked for.
// case: B=3 T=31 Tk=31 H=1 Hkv=1 seed=238 inputs=small padded=0 threads=1 segments=0 tile=0 invalid=0 targets=cpu
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x3xf32>, %g9: tensor<?xf32>, %s10: tensor<?x?x4x3xf32>)
    -> (out12: tensor<?x?x?x3xf32>) {
  %r3 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %r5 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %r7 = read %v2 : tensor<?x?x?x3xf32> -> [3]
  %p8_1 = gelu %r7 {form = #polyattn.gelu_form<erf>} : [3]
  %o11 = attend query %r3 key %r5 value %p8_1 decay %g9 initial %s10 causal normalize <none> {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>} : [4], [4], [3], tensor<?xf32>, tensor<?x?x4x3xf32>
  return %o11 : [3]
}
