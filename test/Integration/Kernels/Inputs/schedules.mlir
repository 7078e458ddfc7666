// Schedules whose blocks do not fit the local block of another attend.
polyattn.attention @eight_beside_100(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>)
    -> (o: tensor<?x?x?x24xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x12xf32> -> [12]
  %a = power 2 %x {symmetric} : [8]
  %b = power 2 %y {symmetric} : [8]
  %c = elu_plus_one %x : [8]
  %d = elu_plus_one %y : [8]
  %near = attend query %a key %b value %values local %a, %b
      causal normalize <bias, bias = 1.0>
      {block = 100, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = state, diagonal = scores, block = 50, feature_block = 64, quadratic_below = 0>}
    : sym 2 [8], sym 2 [8], [12], sym 2 [8], sym 2 [8]
  %far = attend query %c key %d value %values
      causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 8, feature_block = 64, quadratic_below = 0>}
    : [8], [8], [12]
  %o = concat %near, %far : [12], [12]
  return %o : [12] + [12]
}

polyattn.attention @eight_beside_100_gated(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x24xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x12xf32> -> [12]
  %a = power 2 %x {symmetric} : [8]
  %b = power 2 %y {symmetric} : [8]
  %c = elu_plus_one %x : [8]
  %d = elu_plus_one %y : [8]
  %near = attend query %a key %b value %values local %a, %b decay %g
      causal normalize <bias, bias = 1.0>
      {block = 100, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 100, feature_block = 64, quadratic_below = 0>}
    : sym 2 [8], sym 2 [8], [12], sym 2 [8], sym 2 [8], tensor<?x?x?xf32>
  %far = attend query %c key %d value %values decay %g
      causal normalize <bias, bias = 1.0>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 8, feature_block = 64, quadratic_below = 0>}
    : [8], [8], [12], tensor<?x?x?xf32>
  %o = concat %near, %far : [12], [12]
  return %o : [12] + [12]
}

polyattn.attention @thirty_three_beside_eight(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x24xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x12xf32> -> [12]
  %a = power 2 %x {symmetric} : [8]
  %b = power 2 %y {symmetric} : [8]
  %c = elu_plus_one %x : [8]
  %d = elu_plus_one %y : [8]
  %near = attend query %a key %b value %values local %a, %b decay %g
      causal normalize <bias, bias = 1.0>
      {block = 33, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = both, diagonal = scores, block = 33, feature_block = 64, quadratic_below = 120>}
    : sym 2 [8], sym 2 [8], [12], sym 2 [8], sym 2 [8], tensor<?x?x?xf32>
  %far = attend query %c key %d value %values decay %g
      causal normalize <bias, bias = 1.0>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = both, diagonal = scores, block = 8, feature_block = 64, quadratic_below = 200>}
    : [8], [8], [12], tensor<?x?x?xf32>
  %o = concat %near, %far : [12], [12]
  return %o : [12] + [12]
}

// The largest score of a row has no state; 127 is cut by no block of the compiler's.
polyattn.attention @row_max_beside_127(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>)
    -> (o: tensor<?x?x?x24xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x12xf32> -> [12]
  %a = power 2 %x {symmetric} : [8]
  %b = power 2 %y {symmetric} : [8]
  %c = elu_plus_one %x : [8]
  %d = elu_plus_one %y : [8]
  %near = attend query %a key %b value %values local %a, %b
      causal normalize <bias, bias = 1.0>
      {block = 127, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0>}
    : sym 2 [8], sym 2 [8], [12], sym 2 [8], sym 2 [8]
  %far = attend query %c key %d value %values
      causal normalize <bias, bias = 1.0, eps = 1.0e-3, eps_mode = row_max>
      {grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0>}
    : [8], [8], [12]
  %o = concat %near, %far : [12], [12]
  return %o : [12] + [12]
}
