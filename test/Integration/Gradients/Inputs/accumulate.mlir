// Every kind of gradient that is a sum over positions: of weights that heads share and of one for each head, on both
// sides, of vectors, and of a decay for each head.
polyattn.feature_map @scores(%x: [8], %w: 8x12, %g: 8) {
  %y = mul_vec %x, %g : [8], 8
  %z = project %y, %w : [8], 8x12
  %e = elu_plus_one %z : [12]
  yield %e : [12]
}

polyattn.attention @weights(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>,
    %w: tensor<8x12xf32>, %u: tensor<?x8x12xf32>, %g: tensor<8xf32>, %f: tensor<?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %a = apply @scores(%q, %w, %g)
    : tensor<?x?x?x8xf32>, tensor<8x12xf32>, tensor<8xf32> -> [12]
  %b = apply @scores(%k, %u, %f)
    : tensor<?x?x?x8xf32>, tensor<?x8x12xf32>, tensor<?x8xf32> -> [12]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-3>
    {grouping = #polyattn.grouping<block>} : [12], [12], [8]
  return %o : [8]
}

polyattn.attention @decay(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>,
    %w: tensor<8x8xf32>, %log_decay: tensor<?xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %m = read %w : tensor<8x8xf32> -> 8x8
  %a = project %x, %m : [8], 8x8
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c decay %log_decay causal normalize <none>
    {grouping = #polyattn.grouping<block>} : [8], [8], [8], tensor<?xf32>
  return %o : [8]
}

// Weights whose gradients are one value: each has a running sum of its own. One is shared by heads and one is not, so are
// the vectors.
polyattn.attention @equal_gradients(%q: tensor<?x?x?x8xf32>, %w: tensor<8x4xf32>, %u: tensor<8x4xf32>, %r: tensor<?x8x4xf32>,
    %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %w1 = read %w : tensor<8x4xf32> -> 8x4
  %u1 = read %u : tensor<8x4xf32> -> 8x4
  %r1 = read %r : tensor<?x8x4xf32> -> 8x4
  %a1 = read %a : tensor<4xf32> -> 4
  %b1 = read %b : tensor<4xf32> -> 4
  %c1 = read %c : tensor<?x4xf32> -> 4
  %l = project %x, %w1 : [8], 8x4
  %m = project %x, %u1 : [8], 8x4
  %n = project %x, %r1 : [8], 8x4
  %sum = add %l, %m, %n : [4], [4], [4]
  %s0 = add_vec %sum, %a1 : [4], 4
  %s1 = add_vec %s0, %b1 : [4], 4
  %phi = add_vec %s1, %c1 : [4], 4
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %phi key %y value %values causal normalize <none> : [4], [4], [4]
  return %o : [4]
}
