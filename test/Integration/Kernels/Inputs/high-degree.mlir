// A power so high that features of it lose the digits of its scores: most keys are as long as the one that
// counts, and point elsewhere.
polyattn.attention @causal(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>,
                           %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x3xf32> -> [3]
  %y = read %k : tensor<?x?x?x3xf32> -> [3]
  %a = power 30 %x {symmetric} : [3]
  %b = power 30 %y {symmetric} : [3]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : sym 30 [3], sym 30 [3], [4]
  return %o : [4]
}

polyattn.attention @full(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>,
                         %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x3xf32> -> [3]
  %y = read %k : tensor<?x?x?x3xf32> -> [3]
  %a = power 30 %x {symmetric} : [3]
  %b = power 30 %y {symmetric} : [3]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c full normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>}
    : sym 30 [3], sym 30 [3], [4]
  return %o : [4]
}
