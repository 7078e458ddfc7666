// No normalizer: the backward entry takes nothing of the forward one.
polyattn.attention @plain(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                          %v: tensor<?x?x?x16xf32>, %w: tensor<16x24xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %z = read %v : tensor<?x?x?x16xf32> -> [16]
  %t = read %w : tensor<16x24xf32> -> 16x24
  %p = project %x, %t : [16], 16x24
  %r = project %y, %t : [16], 16x24
  %a = exp %p : [24]
  %b = exp %r : [24]
  %o = attend query %a key %b value %z causal normalize <none> {score_scale = 0.01}
    : [24], [24], [16]
  return %o : [16]
}

// Queries and keys of their own lengths and heads: the gradient in q does not read q.
polyattn.attention @full(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                         %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %z = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %y value %z full normalize <none> {score_scale = 0.01}
    : [16], [16], [16]
  return %o : [16]
}

// What is computed from an attend's output keeps it.
polyattn.attention @gated(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                          %v: tensor<?x?x?x16xf32>) -> (gated_o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %z = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %y value %z causal normalize <none> {score_scale = 0.01}
    : [16], [16], [16]
  %g = hadamard %o, %x : [16], [16]
  return %g : [16]
}
