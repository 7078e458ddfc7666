// Linear attention with one value at each position.
polyattn.attention @one_value(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x1xf32>)
    -> (o: tensor<?x?x?x1xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %phi_q = elu_plus_one %x : [16]
  %phi_k = elu_plus_one %y : [16]
  %values = read %v : tensor<?x?x?x1xf32> -> [1]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [16], [16], [1]
  return %o : [1]
}
