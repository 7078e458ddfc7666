// RUN: not polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --split-input-file 2>&1 | FileCheck %s

polyattn.feature_map @id(%x: [4]) {
  yield %x : [4]
}
// CHECK: error: feature maps must be inlined first
polyattn.attention @not_inlined(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = apply @id(%q) : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: an attend of what another attend computes needs an entry of its own
polyattn.attention @chained(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %o = attend query %a key %x value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: short blocks are for causal and anticausal attends
polyattn.attention @short_full(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %b full normalize <none> {schedule = #polyattn.schedule<form = state,
      diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0, short_blocks = [16]>}
    : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: short blocks have no state, but one is given or asked for
polyattn.attention @short_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x4x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a causal normalize <none> {final_state, schedule = #polyattn.schedule<
      form = state, diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0, short_blocks = [16]>}
    : [4], [4], [4]
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

// CHECK: error: a short block is no longer than the local kernel's block
polyattn.attention @short_local(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 24, schedule =
      #polyattn.schedule<form = state, diagonal = scores, block = 24, feature_block = 4, quadratic_below = 0,
      short_blocks = [16, 32]>} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: tile kernels can only return a row's factors
polyattn.attention @factors(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a causal normalize <sum, eps = 0.0> {signed_scores, factors}
    : [4], [4], [4]
  %twice = scale %o#1 {factor = 2.0} : [2]
  return %twice : [2]
}

// -----

// CHECK: :[[@LINE+1]]:1: error: states that live in arguments have no tile kernels where attends have different masks or rows of different sides
polyattn.attention @place_beside_rows_of_keys(
    %k: tensor<?x?x?x8xf32>, %s: tensor<?x?x8x8xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x8xf32>, p: tensor<?x?x?x8xf32>, t: tensor<?x?x8x8xf32> in %s) slots %slots {
  %a = read %k : tensor<?x?x?x8xf32> -> [8]
  %p = attend query %a key %a value %a causal normalize <none>
    {of_keys, grouping = #polyattn.grouping<block>} : [8], [8], [8]
  %o:2 = attend query %a key %a value %a initial %s causal normalize <none>
    {final_state, grouping = #polyattn.grouping<block>} : [8], [8], [8], tensor<?x?x8x8xf32>
  return %o#0, %p, %o#1 : [8], [8], tensor<?x?x8x8xf32>
}

// -----

// The value is no factor of the key.
polyattn.attention @contracted_state(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>) -> (o: tensor<?x?x?x3xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %x = tensor %a, %a : [3], [3]
  // expected-error @below {{the schedule contracts the state, but the value is no factor of keys that are products of two plain vectors}}
  %o = attend query %x key %x value %b causal normalize <none>
    {grouping = #polyattn.grouping<block>, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 6, quadratic_below = 0, contracted = true>}
    : [3] x [3], [3] x [3], [3]
  return %o : [3]
}

// -----

// CHECK: error: a schedule whose diagonal is computed from features needs the state of the attend's own keys
polyattn.attention @features_of_view(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %twice = scale %a {factor = 2.0} : [4]
  %s = state key %a value %a causal : [4], [4]
  %view = scale_state %s {factor = 2.0} : !polyattn.state<4x4>
  %o = attend query %a key %twice value %a state %view causal normalize <none> {schedule = #polyattn.schedule<
      form = state, diagonal = features, block = 16, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4], !polyattn.state<4x4>
  return %o : [4]
}

// -----

// CHECK: error: a schedule whose diagonal is computed from features needs the state of the attend's own keys
polyattn.attention @features_of_others(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %twice = scale %a {factor = 2.0} : [4]
  %half = scale %a {factor = 0.5} : [4]
  %s = state key %a value %a causal : [4], [4]
  %o = attend query %a key %twice value %half state %s causal normalize <none> {schedule = #polyattn.schedule<
      form = state, diagonal = features, block = 16, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4], !polyattn.state<4x4>
  return %o : [4]
}

// -----

// CHECK: error: the form `chunkwise` is for sequences of one length, and not for states in arguments: leave the schedule out
polyattn.attention @chunks_packed(%q: tensor<?x?x?x4xf32>, %offsets: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>)
    packed %offsets {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> {schedule = #polyattn.schedule<form = chunkwise,
      diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0, segment = 128>}
    : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: attends of one mask must have the same segments and states between them
polyattn.attention @chunks_beside_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = elu_plus_one %a : [4]
  %x = attend query %a key %a value %a causal normalize <none> {schedule = #polyattn.schedule<form = chunkwise,
      diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0, segment = 128>}
    : [4], [4], [4]
  %y = attend query %b key %b value %a causal normalize <none> {schedule = #polyattn.schedule<form = state,
      diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0>} : [4], [4], [4]
  %o = concat %x, %y : [4], [4]
  return %o : [4] + [4]
}

// -----

// CHECK: error: a segment of 128 positions is no multiple of 96, the block of the entry's kernels
polyattn.attention @chunks_of_runs(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 96, schedule = #polyattn.schedule<form = chunkwise,
      diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0, segment = 128>}
    : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: the schedule has no state in calls of fewer than 200 positions, but one is asked for
polyattn.attention @chunks_without_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x4x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a causal normalize <none> {final_state, schedule = #polyattn.schedule<form = chunkwise,
      diagonal = scores, block = 64, feature_block = 4, quadratic_below = 200, segment = 128>}
    : [4], [4], [4]
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

// CHECK: error: short calls of the form `chunkwise` have no features: write `diagonal = scores`
polyattn.attention @chunks_features(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> {schedule = #polyattn.schedule<form = chunkwise,
      diagonal = features, block = 64, feature_block = 4, quadratic_below = 200, segment = 128>}
    : [4], [4], [4]
  return %o : [4]
}
