// Attends whose states are symmetric in the value and a factor of the key, with blocks so short that calls
// have several, and blocks of features of which the last one is shorter.

polyattn.attention @causal(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x5xf32>,
                           %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>) -> (o: tensor<?x?x?x3xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %one : [5], [1]
  %query = tensor %a, %rows : [3], [5] + [1]
  %key = tensor %b, %columns : [3], [5] + [1]
  %o = attend query %query key %key value %b causal normalize <none>
    {grouping = #polyattn.grouping<block>, score_scale = 2.0,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0, contracted = true>}
    : [3] x ([5] + [1]), [3] x ([5] + [1]), [3]
  return %o : [3]
}

// With what is beside the numbers of a row not 1, and the value a multiple of the factor.
polyattn.attention @anticausal(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x5xf32>,
                               %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>) -> (o: tensor<?x?x?x3xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %one : [5], [1]
  %query = tensor %b, %columns : [3], [5] + [1]
  %key = tensor %a, %rows : [3], [5] + [1]
  %half = scale %a {factor = 0.5} : [3]
  %o = attend query %query key %key value %half anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0, contracted = true>}
    : [3] x ([5] + [1]), [3] x ([5] + [1]), [3]
  return %o : [3]
}

// Rows are plain vectors, the factors in the other order; 36 pairs, which parts of a launch share.
polyattn.attention @plain_rows(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x5xf32>,
                               %n: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %query = tensor %dn, %a : [5], [8]
  %key = tensor %c, %b : [5], [8]
  %o = attend query %query key %key value %b causal normalize <none>
    {grouping = #polyattn.grouping<block>,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0, contracted = true>}
    : [5] x [8], [5] x [8], [8]
  return %o : [8]
}

polyattn.attention @full(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x5xf32>,
                         %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>) -> (o: tensor<?x?x?x3xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = -1.0, width = 1}
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %one : [5], [1]
  %query = tensor %a, %rows : [3], [5] + [1]
  %key = tensor %b, %columns : [3], [5] + [1]
  %o = attend query %query key %key value %b full normalize <none>
    {grouping = #polyattn.grouping<block>,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0, contracted = true>}
    : [3] x ([5] + [1]), [3] x ([5] + [1]), [3]
  return %o : [3]
}

polyattn.attention @decayed(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x5xf32>,
                            %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x3xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %one : [5], [1]
  %query = tensor %a, %rows : [3], [5] + [1]
  %key = tensor %b, %columns : [3], [5] + [1]
  %o = attend query %query key %key value %b decay %g causal normalize <none>
    {grouping = #polyattn.grouping<block>,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0, contracted = true>}
    : [3] x ([5] + [1]), [3] x ([5] + [1]), [3], tensor<?x?x?xf32>
  return %o : [3]
}

// Runs of local blocks, at whose end the state takes them in.
polyattn.attention @local(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x5xf32>,
                          %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>) -> (o: tensor<?x?x?x3xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %dz : [5], [1]
  %query = tensor %a, %rows : [3], [5] + [1]
  %key = tensor %b, %columns : [3], [5] + [1]
  %near_a = tensor %a, %a : [3], [3]
  %near_b = tensor %b, %b : [3], [3]
  %o = attend query %query key %key value %b local %near_a, %near_b anticausal normalize <none>
    {block = 32, grouping = #polyattn.grouping<block>,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0, contracted = true>}
    : [3] x ([5] + [1]), [3] x ([5] + [1]), [3], [3] x [3], [3] x [3]
  return %o : [3]
}

// Gradients of keys and of values share a state.
polyattn.attention @shared(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x5xf32>,
                           %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>)
    -> (d_k: tensor<?x?x?x3xf32>, d_v: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %one : [5], [1]
  %query = tensor %b, %columns : [3], [5] + [1]
  %key = tensor %a, %rows : [3], [5] + [1]
  %dk = attend query %query key %key value %a anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0, contracted = true>}
    : [3] x ([5] + [1]), [3] x ([5] + [1]), [3]
  %bb = power 2 %b {symmetric} : [3]
  %aa = power 2 %a {symmetric} : [3]
  %dv = attend query %bb key %aa value %dn anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys,
     schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0>}
    : sym 2 [3], sym 2 [3], [5]
  return %dk, %dv : [3], [5]
}
