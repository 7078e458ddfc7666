// Attends whose gradients are read from states after blocks.

// Gates of tokens, without a denominator.
polyattn.attention @gates(%q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>,
                          %log_gate: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x20xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %o = attend query %a key %b value %c decay %log_gate causal normalize <none>
    : [12], [12], [20], tensor<?x?x?xf32>
  return %o : [20]
}

// Neither features nor values are a multiple of a block, and a mean divides rows.
polyattn.attention @uneven(%q: tensor<?x?x?x37xf32>, %k: tensor<?x?x?x37xf32>, %v: tensor<?x?x?x45xf32>)
    -> (o: tensor<?x?x?x45xf32>) {
  %a = read %q : tensor<?x?x?x37xf32> -> [37]
  %b = read %k : tensor<?x?x?x37xf32> -> [37]
  %c = read %v : tensor<?x?x?x45xf32> -> [45]
  %x = exp %a : [37]
  %y = exp %b : [37]
  %o = attend query %x key %y value %c causal normalize <sum, eps = 1.0e-6> {score_scale = 0.25} : [37], [37], [45]
  return %o : [45]
}

// A weight of each head and one of both sides, features side by side.
polyattn.attention @weights(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x16xf32>,
                            %u: tensor<?x8x24xf32>, %w: tensor<8x24xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %query = read %q : tensor<?x?x?x8xf32> -> [8]
  %key = read %k : tensor<?x?x?x8xf32> -> [8]
  %uu = read %u : tensor<?x8x24xf32> -> 8x24
  %ww = read %w : tensor<8x24xf32> -> 8x24
  %a = project %query, %uu : [8], 8x24
  %a2 = project %query, %ww : [8], 8x24
  %b = project %key, %ww : [8], 8x24
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %x = elu_plus_one %a : [24]
  %x2 = elu_plus_one %a2 : [24]
  %y = elu_plus_one %b : [24]
  %y2 = exp %b : [24]
  %phi_q = concat %x, %x2 : [24], [24]
  %phi_k = concat %y, %y2 : [24], [24]
  %o = attend query %phi_q key %phi_k value %c causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [24] + [24], [24] + [24], [16]
  return %o : [16]
}

// A final state, whose gradient comes into those of keys and values.
polyattn.attention @final(%q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>, state: tensor<?x?x12x8xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o, %s = attend query %a key %b value %c causal normalize <none> {final_state} : [12], [12], [8]
  return %o, %s : [8], tensor<?x?x12x8xf32>
}

// Two attends, one of products, which keeps no state.
polyattn.attention @two(%q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %p = power 2 %a {symmetric} : [12]
  %r = power 2 %b {symmetric} : [12]
  %x = attend query %a key %b value %c causal normalize <none> {grouping = #polyattn.grouping<block>} : [12], [12], [8]
  %y = attend query %p key %r value %c causal normalize <none> {grouping = #polyattn.grouping<block>} : sym 2 [12], sym 2 [12], [8]
  %o = add %x, %y : [8], [8]
  return %o : [8]
}
