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
