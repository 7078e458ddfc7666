polyattn.attention @packed(%q: tensor<?x?x?x8xf32>, %g: tensor<?xf32>, %at: tensor<?xi32>)
    -> (d_g: tensor<?xf32>) packed %at {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %n, %p = attend query %a key %a value %a decay %g products %a causal normalize <none>
    : [8], [8], [8], tensor<?xf32>, [8]
  %dv, %r = attend query %a key %a value %a decay %g products %a anticausal normalize <none>
    : [8], [8], [8], tensor<?xf32>, [8]
  %dg = decay_gradient %g queries %p keys %r : tensor<?xf32>, [1], [1]
  return %dg : tensor<?xf32>
}
