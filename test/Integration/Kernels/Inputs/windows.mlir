// Vectors of which a kernel reads parts that begin behind a multiple of 16, or end before one.

// The last two numbers of four.
polyattn.attention @selected(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %sq = select %a {indices = array<i64: 2, 3>} : [4]
  %sk = select %b {indices = array<i64: 2, 3>} : [4]
  %eq = relu %sq : [2]
  %ek = relu %sk : [2]
  %o = attend query %eq key %ek value %c causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>} : [2], [2], [8]
  return %o : [8]
}

// Two groups of four numbers.
polyattn.attention @groups(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %sq = softmax %a {groups = 2} : [8]
  %sk = softmax %b {groups = 2} : [8]
  %o = attend query %sq key %sk value %c causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [8], [8], [8]
  return %o : [8]
}

// Values are cut in halves.
polyattn.attention @halves(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x40xf32>)
    -> (o: tensor<?x?x?x40xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x40xf32> -> [40]
  %ea = elu_plus_one %a : [8]
  %eb = elu_plus_one %b : [8]
  %left = select %c {indices = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19>} : [40]
  %right = select %c {indices = array<i64: 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39>} : [40]
  %o1 = attend query %ea key %eb value %left causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [8], [8], [20]
  %o2 = attend query %ea key %eb value %right causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [8], [8], [20]
  %o = concat %o1, %o2 : [20], [20]
  return %o : [20] + [20]
}
