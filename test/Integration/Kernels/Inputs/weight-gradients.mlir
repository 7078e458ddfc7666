// Gradients of weights beside attends of two masks: shared by the heads and of each head, matrices
// and vectors, one pair and several, with and without an attend, x as it is read and computed.
polyattn.attention @sums(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x24xf32>,
    %w: tensor<16x24xf32>, %u: tensor<?x16x24xf32>)
    -> (o: tensor<?x?x?x24xf32>, dw: tensor<16x24xf32>, du: tensor<?x16x24xf32>, db: tensor<24xf32>,
        dc: tensor<?x16xf32>, ds: tensor<1x16xf32>, dt: tensor<24x5xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x24xf32> -> [24]
  %m = read %w : tensor<16x24xf32> -> 16x24
  %h = read %u : tensor<?x16x24xf32> -> 16x24
  %p = project %a, %m : [16], 16x24
  %r = project %b, %h : [16], 16x24
  %f = sigmoid %b : [16]
  %y = attend query %p key %r value %c causal normalize <none> : [24], [24], [24]
  %z = attend query %r key %p value %c anticausal normalize <none> : [24], [24], [24]
  %g = squared_norm %z : [24]
  %l = select %z {indices = array<i64: 0, 7, 7, 23, 4>} : [24]
  %dw = weight_gradient (%a, %y), (%b, %z) : ([16], [24]), ([16], [24])
  %du = weight_gradient (%f, %z) : ([16], [24])
  %db = weight_gradient %y, %z : [24], [24]
  %dc = weight_gradient %f : [16]
  %ds = weight_gradient (%g, %b) : ([1], [16])
  %dt = weight_gradient (%z, %l) : ([24], [5])
  return %y, %dw, %du, %db, %dc, %ds, %dt : [24], 16x24, 16x24, 24, 16, 1x16, 24x5
}

// All pairs see each other, heads of queries share those of keys, and a normalizer divides.
polyattn.attention @full(%q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x9xf32>)
    -> (o: tensor<?x?x?x9xf32>, dw: tensor<12x9xf32>, db: tensor<?x9xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x9xf32> -> [9]
  %x = elu_plus_one %a : [12]
  %y = elu_plus_one %b : [12]
  %o = attend query %x key %y value %c full normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : [12], [12], [9]
  %t = tanh %o : [9]
  %dw = weight_gradient (%x, %t) : ([12], [9])
  %db = weight_gradient %t : [9]
  return %o, %dw, %db : [9], 12x9, 9
}

// Rows are of keys, which have fewer heads than queries: programs of single query heads have no sums then, those of
// their groups have.
polyattn.attention @of_keys(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>, %d_o: tensor<?x?x?x8xf32>)
    -> (d_k: tensor<?x?x?x16xf32>, dw: tensor<16x16xf32>, db: tensor<16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %d = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %dk = attend query %c key %d value %a anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [8], [8], [16]
  %dw = weight_gradient (%b, %dk) : ([16], [16])
  %db = weight_gradient %dk : [16]
  return %dk, %dw, %db : [16], 16x16, 16
}

// Weights of heads of queries beside those of heads of keys, which are fewer.
polyattn.attention @both_heads(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>, %d_o: tensor<?x?x?x8xf32>,
    %u: tensor<?x16x12xf32>, %w: tensor<?x16x12xf32>)
    -> (du: tensor<?x16x12xf32>, dw: tensor<?x16x12xf32>, db: tensor<?x12xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %d = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %m = read %u : tensor<?x16x12xf32> -> 16x12
  %n = read %w : tensor<?x16x12xf32> -> 16x12
  %x = project %a, %m : [16], 16x12
  %y = project %b, %n : [16], 16x12
  %dx = attend query %d key %c value %y causal normalize <none>
    {grouping = #polyattn.grouping<block>} : [8], [8], [12]
  %dy = attend query %c key %d value %x anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [8], [8], [12]
  %du = weight_gradient (%a, %dx) : ([16], [12])
  %dw = weight_gradient (%b, %dy) : ([16], [12])
  %db = weight_gradient %dx : [12]
  return %du, %dw, %db : 16x12, 16x12, 12
}
