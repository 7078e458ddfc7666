// RUN: polyattn-opt %s --polyattn-name-states --split-input-file --verify-diagnostics | FileCheck %s

// What was given to the attend is given to its state.
// CHECK-LABEL: @given
// CHECK: %[[S:.*]] = state key %[[K:.*]] value %[[V:.*]] decay %g initial %s initial_normalizer %z causal {gate_heads = q, normalizer} :
// CHECK-NEXT: attend query %{{.*}} key %[[K]] value %[[V]] decay %g state %[[S]] causal normalize <sum, eps = {{.*}}> {final_state,
// CHECK-SAME: schedule = #polyattn.schedule<form = state,
polyattn.attention @given(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %g: tensor<?x?x?xf32>,
                          %s: tensor<?x?x4x2xf32>, %z: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x2xf32>, f: tensor<?x?x4x2xf32>, fz: tensor<?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %o:3 = attend query %x key %x value %c decay %g initial %s initial_normalizer %z causal normalize <sum, eps = 1.0e-6>
      {final_state, gate_heads = #polyattn.gate_heads<q>, signed_scores}
    : [4], [4], [2], tensor<?x?x?xf32>, tensor<?x?x4x2xf32>, tensor<?x?x4xf32>
  return %o#0, %o#1, %o#2 : [2], tensor<?x?x4x2xf32>, tensor<?x?x4xf32>
}

// Keys come into the state of a local kernel's blocks when these are complete.
// CHECK-LABEL: @local
// CHECK: state key %{{.*}} value %{{.*}} anticausal {block = 16, of_keys} :
polyattn.attention @local(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %e = exp %x : [4]
  %o = attend query %x key %x value %x local %e, %e anticausal normalize <none> {block = 16, of_keys}
    : [4], [4], [4], [4], [4]
  return %o : [4]
}

// Where features are zero there are the pairs of local vectors alone, unless a state is asked for.
// CHECK-LABEL: @local_alone
// CHECK-NOT: state key
// CHECK: attend query %{{.*}} key %[[Z:.*]] value %{{.*}} local %{{.*}}, %{{.*}} causal normalize <none> {block = 16, schedule = #polyattn.schedule<form = quadratic,
// CHECK: %[[S:.*]] = state key %[[Z]] value
// CHECK: attend query %{{.*}} key %[[Z]] value %{{.*}} local %{{.*}}, %{{.*}} state %[[S]] causal
polyattn.attention @local_alone(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, f: tensor<?x?x1x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %z = constant {value = 0.0, width = 1}
  %n = sum %x : [4]
  %o = attend query %n key %z value %x local %x, %x causal normalize <none> {block = 16}
    : [1], [1], [4], [4], [4]
  %p:2 = attend query %n key %z value %x local %x, %x causal normalize <none> {block = 16, final_state}
    : [1], [1], [4], [4], [4]
  return %o, %p#0, %p#1 : [4], [4], tensor<?x?x1x4xf32>
}

// Features that decay each by itself have a state of another op.
// CHECK-LABEL: @channels
// CHECK: %[[S:.*]] = channel_state key %[[K:.*]] value %[[V:.*]] decay %g initial %s causal {gate_heads = q} :
// CHECK-NEXT: attend query %{{.*}} key %[[K]] value %[[V]] decay %g state %[[S]] causal normalize <none> {final_state,
// CHECK-SAME: schedule = #polyattn.schedule<form = state, diagonal = features, block = 8,
polyattn.attention @channels(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %g: tensor<?x?x?x4xf32>,
                             %s: tensor<?x?x4x2xf32>)
    -> (o: tensor<?x?x?x2xf32>, f: tensor<?x?x4x2xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %o:2 = attend query %x key %x value %c decay %g initial %s causal normalize <none>
      {final_state, gate_heads = #polyattn.gate_heads<q>}
    : [4], [4], [2], tensor<?x?x?x4xf32>, tensor<?x?x4x2xf32>
  return %o#0, %o#1 : [2], tensor<?x?x4x2xf32>
}

// CHECK-LABEL: @quadratic
// CHECK-NOT: state key
polyattn.attention @quadratic(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<form = quadratic,
      diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0>} : [4], [4], [4]
  return %o : [4]
}

// The products of two elements of k stand for the features k x c and the values k, times the numbers on them.
// CHECK-LABEL: @contracted
// CHECK: %[[C:.*]] = concat
// CHECK: %[[PAIRS:.*]] = power 2 %[[K:.*]] {symmetric} : [4]
// CHECK: %[[S:.*]] = state key %[[PAIRS]] value %[[C]] causal {last_apart} : sym 2 [4], [2] + [1]
// CHECK: %[[U:.*]] = unfold_pairs %[[S]] : !polyattn.state<10x3>
// CHECK: %[[SCALED:.*]] = scale_state %[[U]] {factor = 1.5} : !polyattn.state<12x4>
// CHECK: attend {{.*}} state %[[SCALED]] causal
polyattn.attention @contracted(%k: tensor<?x?x?x4xf32>, %c: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %k : tensor<?x?x?x4xf32> -> [4]
  %y = read %c : tensor<?x?x?x2xf32> -> [2]
  %one = constant {value = 1.0, width = 1}
  %column = concat %y, %one : [2], [1]
  %features = tensor %x, %column : [4], [2] + [1]
  %scaled = scale %features {factor = 0.5} : [4] x ([2] + [1])
  %value = scale %x {factor = 3.0} : [4]
  %o = attend query %features key %scaled value %value causal normalize <none> {schedule = #polyattn.schedule<
      form = state, diagonal = scores, block = 16, feature_block = 10, quadratic_below = 0, contracted = true>}
    : [4] x ([2] + [1]), [4] x ([2] + [1]), [4]
  return %o : [4]
}

// -----

polyattn.attention @asked_of_quadratic(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{the schedule has no state, but one is asked for}}
  %o:2 = attend query %x key %x value %x causal normalize <none> {final_state, schedule = #polyattn.schedule<form = quadratic,
      diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0>} : [4], [4], [4]
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @without_features(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{the schedule asks for a state, but these scores have no features}}
  %o = attend query %x key %x value %x causal normalize <sum, eps = 1.0e-6, eps_mode = row_max> {signed_scores, schedule = #polyattn.schedule<form = state,
      diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0>} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @nothing_to_contract(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{the schedule contracts the state, but the value is no factor of keys that are products of two plain vectors}}
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<form = state, diagonal = scores,
      block = 16, feature_block = 4, quadratic_below = 0, contracted = true>} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @channels_by_scores(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{a decay of each feature needs the schedule's form `state`, with a diagonal computed from features}}
  %o = attend query %x key %x value %x decay %g causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4], tensor<?x?x?x4xf32>
  return %o : [4]
}
