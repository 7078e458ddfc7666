// Attends whose gradients GPUs compute in independent blocks, with states that are small: segments are short.

// Squares with a denominator.
polyattn.attention @squares(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x16xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %pa = power 2 %a {symmetric} : [8]
  %pb = power 2 %b {symmetric} : [8]
  %o = attend query %pa key %pb value %c causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>} : sym 2 [8], sym 2 [8], [16]
  return %o : [16]
}

// Decays of heads, no denominator.
polyattn.attention @decayed<d = 16>(q, k, v: seq[d]) {
  return attend(q, k, v) causal normalize none decay_factors(0.99, 0.95) gate_heads kv
}

// Two attends of one mask have states of their own.
polyattn.attention @two(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
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
  %o2 = attend query %pa key %pb value %c causal normalize <none>
      {grouping = #polyattn.grouping<block>} : sym 2 [8], sym 2 [8], [8]
  %o = concat %o1, %o2 : [8], [8]
  return %o : [8] + [8]
}
