// Constant queries and keys: sums and means of values, and what folds to them.
polyattn.feature_map @half() {
  %c = constant {value = 0.5, width = 3}
  yield %c : [3]
}

polyattn.attention @running_mean(%v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %c = apply @half() : -> [3]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %c key %c value %values causal normalize <sum, eps = 0.0> : [3], [3], [8]
  return %o : [8]
}

polyattn.attention @running_mean_of_groups(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %c = apply @half() : -> [3]
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %m = attend query %c key %c value %values causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<interleaved>}
    : [3], [3], [8]
  %o = add %m, %x : [8], [8]
  return %o : [8]
}

polyattn.attention @decayed_sum(%v: tensor<?x?x?x8xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x8xf32>, s: tensor<?x?x3x8xf32>) {
  %c = apply @half() : -> [3]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %c key %c value %values decay %g causal normalize <none> {final_state}
    : [3], [3], [8], tensor<?x?x?xf32>
  return %o#0, %o#1 : [8], tensor<?x?x3x8xf32>
}

polyattn.attention @mean(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %c = apply @half() : -> [3]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %m = attend query %c key %c value %values full normalize <sum, eps = 0.0> : [3], [3], [8]
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %o = add %m, %x : [8], [8]
  return %o : [8]
}

// How many keys a query saw.
polyattn.attention @count(%q: tensor<?x?x?x8xf32>) -> (n: tensor<?x?x?x1xf32>, o: tensor<?x?x?x8xf32>) {
  %one = constant {value = 1.0, width = 1}
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %n = attend query %one key %one value %one causal normalize <none> : [1], [1], [1]
  return %n, %x : [1], [8]
}

// The norm of a constant folds to a constant, zero.
polyattn.attention @folded(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %c = constant {value = 3.0, width = 8}
  %n = layer_norm %c {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [8]
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %p = hadamard %x, %n : [8], [8]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %p key %n value %values causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
