// Attends of which one has a state between the local blocks of the other.

// The first attend's state goes on through the runs of blocks that the second one's local blocks are.
polyattn.attention @beside_local(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %ea = elu_plus_one %a : [8]
  %eb = elu_plus_one %b : [8]
  %o1 = attend query %ea key %eb value %c causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [8], [8], [8]
  %pa = power 2 %a {symmetric} : [8]
  %pb = power 2 %b {symmetric} : [8]
  %o2 = attend query %ea key %eb value %c local %pa, %pb causal normalize <bias, bias = 1.0>
      {block = 128, grouping = #polyattn.grouping<block>} : [8], [8], [8], sym 2 [8], sym 2 [8]
  %o = concat %o1, %o2 : [8], [8]
  return %o : [8] + [8]
}

// The same beside an attend without a state, whose blocks are long.
polyattn.attention @beside_largest(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %ea = elu_plus_one %a : [8]
  %eb = elu_plus_one %b : [8]
  %o1 = attend query %ea key %eb value %c causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [8], [8], [8]
  %pa = power 2 %a {symmetric} : [8]
  %pb = power 2 %b {symmetric} : [8]
  %o2 = attend query %ea key %eb value %c local %pa, %pb causal
      normalize <bias, bias = 1.0, eps = 0.1, eps_mode = row_max>
      {block = 128, grouping = #polyattn.grouping<block>} : [8], [8], [8], sym 2 [8], sym 2 [8]
  %o = concat %o1, %o2 : [8], [8]
  return %o : [8] + [8]
}
