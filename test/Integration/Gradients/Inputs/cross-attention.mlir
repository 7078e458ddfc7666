// Queries and keys of different number under the full mask, without a grouping.

polyattn.attention @plain(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %y value %values full normalize <none> : [8], [8], [4]
  return %o : [4]
}

polyattn.attention @normalized(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>,
                               %w: tensor<8x8xf32>, %u: tensor<?x8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %w1 = read %w : tensor<8x8xf32> -> 8x8
  %u1 = read %u : tensor<?x8xf32> -> 8
  %a = project %x, %w1 : [8], 8x8
  %b = project %y, %w1 : [8], 8x8
  %c = mul_vec %b, %u1 : [8], 8
  %query = exp %a : [8]
  %key = exp %c : [8]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %query key %key value %values full normalize <sum, eps = 1.0e-3, reduce = mean>
    : [8], [8], [4]
  return %o : [4]
}

// Products among the features, two attends with one query, and what is computed of their outputs.
polyattn.attention @products(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %one = constant {value = 1.0, width = 1}
  %xx = power 2 %x {symmetric} : [4]
  %yy = power 2 %y {symmetric} : [4]
  %query = concat %one, %xx : [1], sym 2 [4]
  %key = concat %one, %yy : [1], sym 2 [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %first = attend query %query key %key value %values full normalize <sum, eps = 1.0e-6>
    : [1] + sym 2 [4], [1] + sym 2 [4], [4]
  %second = attend query %x key %y value %values full normalize <none, reduce = mean>
    : [4], [4], [4]
  %o = hadamard %first, %second : [4], [4]
  return %o : [4]
}
