// RUN: polyattn-opt %s --polyattn-name-states --polyattn-merge-states | FileCheck %s

// The gradients of keys and of values: features of one are values of the other.
// CHECK-LABEL: @transposed
// CHECK: %[[S:.*]] = state key %[[A:.*]] value %[[B:.*]] anticausal : [4], [8]
// CHECK: %[[T:.*]] = transpose_state %[[S]] : !polyattn.state<4x8>
// CHECK-NOT: state key
// CHECK: attend query %{{.*}} key %[[B]] value %[[A]] state %[[T]] anticausal
// CHECK: attend query %{{.*}} key %[[A]] value %[[B]] state %[[S]] anticausal
polyattn.attention @transposed(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>)
    -> (dk: tensor<?x?x?x4xf32>, dv: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x8xf32> -> [8]
  %dk = attend query %b key %b value %a anticausal normalize <none> : [8], [8], [4]
  %e = exp %dk : [4]
  %dv = attend query %a key %a value %b anticausal normalize <none> : [4], [4], [8]
  return %e, %dv : [4], [8]
}

// The denominator's row is a state of its own; numbers between the vectors are between the states.
// CHECK-LABEL: @denominator
// CHECK: %[[ALL:.*]] = state key %[[PHI:.*]] value %[[B:.*]] anticausal {decay_factors = array<f64: 0.5>} : [1] + [4], [8]
// CHECK: %[[ROWS:.*]] = state_rows %[[ALL]] {first = 1, rows = 4} : !polyattn.state<5x8>
// CHECK: %[[T:.*]] = transpose_state %[[ROWS]] : !polyattn.state<4x8>
// CHECK: %[[TWICE:.*]] = scale_state %[[T]] {factor = 2.0}
// CHECK: %[[REST:.*]] = state key %[[Z:.*]] value %{{.*}} anticausal {decay_factors = array<f64: 0.5>} : [1], [4]
// CHECK: %[[BOTH:.*]] = stack_states %[[TWICE]], %[[REST]] : !polyattn.state<8x4>, !polyattn.state<1x4>
// CHECK: attend query {{.*}} state %[[BOTH]] anticausal
polyattn.attention @denominator(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %n: tensor<?x?x?x1xf32>)
    -> (dk: tensor<?x?x?x4xf32>, dv: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x8xf32> -> [8]
  %z = read %n : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %bz = concat %b, %z : [8], [1]
  %twice = scale %a {factor = 2.0} : [4]
  %phi = concat %one, %a : [1], [4]
  %dk = attend query %bz key %bz value %twice anticausal normalize <none> {decay_factors = array<f64: 0.5>} : [8] + [1], [8] + [1], [4]
  %dv = attend query %phi key %phi value %b anticausal normalize <none> {decay_factors = array<f64: 0.5>} : [1] + [4], [1] + [4], [8]
  return %dk, %dv : [4], [8]
}

// CHECK-LABEL: @equal
// CHECK: %[[S:.*]] = state key
// CHECK-NOT: state key
// CHECK: attend query {{.*}} state %[[S]] causal
// CHECK: attend query {{.*}} state %[[S]] causal
polyattn.attention @equal(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %b causal normalize <none> : [4], [4], [4]
  %p = attend query %b key %b value %b causal normalize <none> : [4], [4], [4]
  return %o, %p : [4], [4]
}

// Multiples of features over multiples of values, whose numbers cancel: the sums are the same, but not the
// features of keys, so that pairs of a block are seen through scores.
// CHECK-LABEL: @multiples
// CHECK: %[[TWICE:.*]] = scale %[[K:.*]] {factor = 2.0}
// CHECK: %[[S:.*]] = state key %[[K]] value %{{.*}} causal
// CHECK-NOT: state key
// CHECK: attend query %{{.*}} key %[[TWICE]] {{.*}} state %[[S]] causal {{.*}} diagonal = scores
// CHECK: attend query %{{.*}} key %[[K]] {{.*}} state %[[S]] causal {{.*}} diagonal = features
polyattn.attention @multiples(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>, p: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %value = read %v : tensor<?x?x?x8xf32> -> [8]
  %twice = scale %y {factor = 2.0} : [4]
  %half = scale %value {factor = 0.5} : [8]
  %o = attend query %x key %twice value %half causal normalize <none> {schedule = #polyattn.schedule<
      form = state, diagonal = features, block = 16, feature_block = 4, quadratic_below = 0>} : [4], [4], [8]
  %p = attend query %x key %y value %value causal normalize <none> {schedule = #polyattn.schedule<
      form = state, diagonal = features, block = 16, feature_block = 4, quadratic_below = 0>} : [4], [4], [8]
  return %o, %p : [8], [8]
}

// Of a state that is contracted, the numbers are rows of the other one; the normalizer's column stays.
// CHECK-LABEL: @squares
// CHECK: %[[ALL:.*]] = state key %{{.*}} value %[[B:.*]] anticausal : [4] + sym 2 [4], [2]
// CHECK: %[[ROWS:.*]] = state_rows %[[ALL]] {first = 4, rows = 10} : !polyattn.state<14x2>
// CHECK: %[[APART:.*]] = state key %{{.*}} value %{{.*}} anticausal {last_apart} : sym 2 [4], [1]
// CHECK: %[[PAIRS:.*]] = join_states %[[ROWS]], %[[APART]] : !polyattn.state<10x2>, !polyattn.state<10x1>
// CHECK: unfold_pairs %[[PAIRS]] : !polyattn.state<10x3>
polyattn.attention @squares(%k: tensor<?x?x?x4xf32>, %c: tensor<?x?x?x2xf32>, %n: tensor<?x?x?x1xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x2xf32>) {
  %x = read %k : tensor<?x?x?x4xf32> -> [4]
  %y = read %c : tensor<?x?x?x2xf32> -> [2]
  %z = read %n : tensor<?x?x?x1xf32> -> [1]
  %column = concat %y, %z : [2], [1]
  %features = tensor %x, %column : [4], [2] + [1]
  %o = attend query %features key %features value %x anticausal normalize <none> {schedule = #polyattn.schedule<
      form = state, diagonal = scores, block = 16, feature_block = 10, quadratic_below = 0, contracted = true>}
    : [4] x ([2] + [1]), [4] x ([2] + [1]), [4]
  %xx = power 2 %x {symmetric} : [4]
  %all = concat %x, %xx : [4], sym 2 [4]
  %p = attend query %all key %all value %y anticausal normalize <none> {schedule = #polyattn.schedule<
      form = state, diagonal = scores, block = 16, feature_block = 14, quadratic_below = 0>}
    : [4] + sym 2 [4], [4] + sym 2 [4], [2]
  return %o, %p : [4], [2]
}

// A state that is a result has a tensor of its own; others may be views of it.
// CHECK-LABEL: @result
// CHECK: %[[S:.*]] = state key %[[A:.*]] value %[[B:.*]] initial %i anticausal : [4], [8]
// CHECK: %[[T:.*]] = transpose_state %[[S]] : !polyattn.state<4x8>
// CHECK-NOT: state key
polyattn.attention @result(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %i: tensor<?x?x4x8xf32>)
    -> (dk: tensor<?x?x?x4xf32>, dv: tensor<?x?x?x8xf32>, f: tensor<?x?x4x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x8xf32> -> [8]
  %dk = attend query %b key %b value %a initial %i anticausal normalize <none> {initial_transposed} : [8], [8], [4], tensor<?x?x4x8xf32>
  %dv:2 = attend query %a key %a value %b initial %i anticausal normalize <none> {final_state} : [4], [4], [8], tensor<?x?x4x8xf32>
  return %dk, %dv#0, %dv#1 : [4], [8], tensor<?x?x4x8xf32>
}

// Other masks, decays and initial states, and the full mask, where a state is complete before it is read.
// CHECK-LABEL: @apart
// CHECK-COUNT-6: state key
// CHECK-NOT: transpose_state
polyattn.attention @apart(%q: tensor<?x?x?x4xf32>, %i: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, r: tensor<?x?x?x4xf32>, s: tensor<?x?x?x4xf32>,
        t: tensor<?x?x?x4xf32>, u: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %p = attend query %a key %a value %a anticausal normalize <none> : [4], [4], [4]
  %r = attend query %a key %a value %a causal normalize <none> {decay_factors = array<f64: 0.5>} : [4], [4], [4]
  %s = attend query %a key %a value %a initial %i causal normalize <none> : [4], [4], [4], tensor<?x?x4x4xf32>
  %t = attend query %a key %a value %a full normalize <none> : [4], [4], [4]
  %e = exp %a : [4]
  %u = attend query %e key %a value %a full normalize <none> : [4], [4], [4]
  return %o, %p, %r, %s, %t, %u : [4], [4], [4], [4], [4], [4]
}
