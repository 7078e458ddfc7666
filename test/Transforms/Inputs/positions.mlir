polyattn.attention @positions(%q: tensor<?x?x?x4xf32>, %table: tensor<?x1x4xf32>,
                              %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>) first_position %first {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %t = read %table : tensor<?x1x4xf32> -> [4]
  %a = hadamard %x, %t : [4], [4]
  %o = attend query %a key %a value %x causal normalize <none> : [4], [4], [4]
  return %o : [4]
}
