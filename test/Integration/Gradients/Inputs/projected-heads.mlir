// A weight of each head behind the attention, and a residual.
polyattn.attention @projected(
    %q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %w: tensor<?x4x5xf32>,
    %x: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %sum = attend query %a key %b value %c full normalize <none>
      {grouping = #polyattn.grouping<interleaved>} : [4], [4], [4]
  %weight = read %w : tensor<?x4x5xf32> -> 4x5
  %p = project %sum, %weight : [4], 4x5
  %residual = read %x : tensor<?x?x?x5xf32> -> [5]
  %o = add %p, %residual : [5], [5]
  return %o : [5]
}
