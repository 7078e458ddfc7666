// Two attentions in one entry whose states differ in all that segments keep: width, normalizer, decay,
// and whose heads they belong to.
polyattn.attention @two_attends(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x24xf32>,
    %g: tensor<?x?x?xf32>, %h: tensor<?xf32>, %s: tensor<?x?x136x24xf32>)
    -> (o: tensor<?x?x?x48xf32>, final: tensor<?x?x136x24xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %values = read %v : tensor<?x?x?x24xf32> -> [24]
  %a = elu_plus_one %x : [16]
  %b = elu_plus_one %y : [16]
  %gated = attend query %a key %b value %values decay %g
      causal normalize <sum, eps = 1.0e-6>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [16], [16], [24], tensor<?x?x?xf32>
  %c = power 2 %x {symmetric} : [16]
  %d = power 2 %y {symmetric} : [16]
  %squared:2 = attend query %c key %d value %values decay %h initial %s
      causal normalize <none>
      {final_state, score_scale = 0.0625, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : sym 2 [16], sym 2 [16], [24], tensor<?xf32>, tensor<?x?x136x24xf32>
  %o = concat %gated, %squared#0 : [24], [24]
  return %o, %squared#1 : [24] + [24], tensor<?x?x136x24xf32>
}
