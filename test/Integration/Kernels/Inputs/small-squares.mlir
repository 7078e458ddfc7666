// Symmetric squares whose blocks of 8 numbers are few.

polyattn.attention @squares_16(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x40xf32>)
    -> (o: tensor<?x?x?x40xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %values = read %v : tensor<?x?x?x40xf32> -> [40]
  %a = power 2 %x {symmetric} : [16]
  %b = power 2 %y {symmetric} : [16]
  %o = attend query %a key %b value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [16], sym 2 [16], [40]
  return %o : [40]
}

polyattn.attention @squares_24(%q: tensor<?x?x?x24xf32>, %k: tensor<?x?x?x24xf32>, %v: tensor<?x?x?x40xf32>)
    -> (o: tensor<?x?x?x40xf32>) {
  %x = read %q : tensor<?x?x?x24xf32> -> [24]
  %y = read %k : tensor<?x?x?x24xf32> -> [24]
  %values = read %v : tensor<?x?x?x40xf32> -> [40]
  %a = power 2 %x {symmetric} : [24]
  %b = power 2 %y {symmetric} : [24]
  %o = attend query %a key %b value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [24], sym 2 [24], [40]
  return %o : [40]
}
