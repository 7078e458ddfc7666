// Attends whose scores do not follow from the query, from the key, or from either.

polyattn.attention @means(%v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %one = constant {value = 1.0, width = 1}
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %one key %one value %values causal normalize <sum, eps = 1.0e-6>
    {grouping = #polyattn.grouping<block>} : [1], [1], [4]
  return %o : [4]
}

polyattn.attention @both(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %one = constant {value = 1.0, width = 1}
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %mean = attend query %one key %one value %values causal normalize <sum, eps = 1.0e-6>
    {grouping = #polyattn.grouping<block>} : [1], [1], [4]
  %first = select %x {indices = array<i64: 0, 1, 2, 3>} : [8]
  %o = hadamard %mean, %first : [4], [4]
  return %o : [4]
}

polyattn.attention @query(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %key = exp %y : [8]
  %ones = constant {value = 1.0, width = 8}
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %mean = attend query %ones key %key value %values causal normalize <sum, eps = 1.0e-6>
    {grouping = #polyattn.grouping<block>} : [8], [8], [4]
  %o = add %mean, %x : [4], [4]
  return %o : [4]
}

polyattn.attention @key(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %query = exp %x : [8]
  %ones = constant {value = 1.0, width = 8}
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %query key %ones value %values full normalize <sum, eps = 1.0e-3>
    {grouping = #polyattn.grouping<interleaved>} : [8], [8], [4]
  return %o : [4]
}

// What is wanted has the factor 0: its gradient is zeros, and reads nothing.
polyattn.attention @vanishing(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %none = scale %x {factor = 0.0} : [8]
  %query = elu_plus_one %none : [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %key = elu_plus_one %y : [8]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %query key %key value %values causal normalize <sum, eps = 1.0e-6>
    {grouping = #polyattn.grouping<block>} : [8], [8], [4]
  return %o : [4]
}
