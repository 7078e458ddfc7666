// RUN: polyattn-opt %s --split-input-file --polyattn-derive-gradient-states --polyattn-expand-backward --polyattn-drop-rows --verify-diagnostics | FileCheck %s

// The gradient of the state before a segment, from the segment's outputs alone: keys, values and the gradient of the state after it
// have no part in it.

// CHECK-LABEL: polyattn.attention @normalized__gradient_states(%q: tensor<?x?x?x4xf32>, %o: tensor<?x?x?x8xf32>, %o_factors: tensor<?x?x?x2xf32>, %d_o: tensor<?x?x?x8xf32>)
// CHECK-SAME:    -> (d_s: tensor<?x?x4x8xf32>, d_z: tensor<?x?x4xf32>)
// CHECK:         %{{.*}}, %[[S:.*]] = attend query %[[Q:.*]] key %[[Q]] value %{{.*}} anticausal normalize <none> {final_state}
// CHECK:         %{{.*}}, %[[Z:.*]] = attend query %[[Q]] key %[[Q]] value %{{.*}} anticausal normalize <none> {final_state}
// CHECK:         return %[[S]], %[[Z]] :
polyattn.attention @normalized(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %s: tensor<?x?x4x8xf32>,
    %z: tensor<?x?x4xf32>) -> (o: tensor<?x?x?x8xf32>, last: tensor<?x?x4x8xf32>, last_z: tensor<?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %e = exp %a : [4]
  %f = exp %b : [4]
  %o:3 = attend query %e key %f value %c initial %s initial_normalizer %z causal normalize <sum, eps = 1.0> {final_state}
    : [4], [4], [8], tensor<?x?x4x8xf32>, tensor<?x?x4xf32>
  return %o#0, %o#1, %o#2 : [8], tensor<?x?x4x8xf32>, tensor<?x?x4xf32>
}

// -----

// States that an attention does not have are those that its segments would begin with.

// CHECK-LABEL: polyattn.attention @gated__gradient_states(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %d_o: tensor<?x?x?x4xf32>) -> (d_state: tensor<?x?x4x4xf32>)
// CHECK:         attend query {{.*}} decay %g anticausal normalize <none> {final_state}
polyattn.attention @gated(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a decay %g causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>
  return %o : [4]
}

// -----

polyattn.attention @shared_state(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %e = exp %a : [4]
  %x = attend query %a key %a value %a initial %s causal normalize <none> : [4], [4], [4], tensor<?x?x4x4xf32>
  // expected-error@+1 {{has no states that segments compose by: it begins with "s", as another attend does, and in a later segment they begin with two; give each attend a state of its own}}
  %y = attend query %e key %e value %a initial %s causal normalize <none> : [4], [4], [4], tensor<?x?x4x4xf32>
  %o = add %x, %y : [4], [4]
  return %o : [4]
}
