// Attends that no result depends on, and decays and states of theirs.
polyattn.attention @unreturned(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>,
    %v: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %h: tensor<?xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o1 = attend query %a key %b value %c decay %g initial %s causal normalize <none>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>
  %r = relu %o1 : [4]
  %o2 = attend query %r key %b value %c decay %h causal normalize <none>
      {grouping = #polyattn.grouping<block>} : [4], [4], [4], tensor<?xf32>
  %o = attend query %a key %b value %c full normalize <none>
      {grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o : [4]
}
