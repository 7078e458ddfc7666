// A weight behind the attention.
polyattn.attention @projected(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %w: tensor<4x5xf32>)
    -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %sum = attend query %a key %b value %c causal normalize <none>
      {grouping = #polyattn.grouping<block>} : [4], [4], [4]
  %weight = read %w : tensor<4x5xf32> -> 4x5
  %t = tanh %sum : [4]
  %o = project %t, %weight : [4], 4x5
  return %o : [5]
}
