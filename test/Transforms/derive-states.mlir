// RUN: polyattn-opt %s --split-input-file --polyattn-derive-states --polyattn-drop-rows --verify-diagnostics | FileCheck %s

// CHECK-LABEL: polyattn.attention @plain__states(%k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>) -> (final: tensor<?x?x4x8xf32>) {
// CHECK-NEXT:    %[[K:.*]] = read %k
// CHECK-NEXT:    %[[V:.*]] = read %v
// CHECK-NEXT:    %{{.*}}, %[[S:.*]] = attend query %[[K]] key %[[K]] value %[[V]] causal normalize <none> {final_state}
// CHECK-NEXT:    return %[[S]] : tensor<?x?x4x8xf32>
polyattn.attention @plain(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> {score_scale = 0.5, grouping = #polyattn.grouping<block>} : [4], [4], [8]
  return %o : [8]
}

// -----

// Results keep their names; states begin with zeros, local vectors are no part of them, and first positions stay.

// CHECK-LABEL: polyattn.attention @all__states(%k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %first: tensor<?xi64>, %decay_before: tensor<?x?x1xf32>)
// CHECK-SAME:    -> (last: tensor<?x?x4x4xf32>, last_z: tensor<?x?x4xf32>, decay: tensor<?x?x1xf32>) first_position %first {
// CHECK:         %{{.*}}, %[[S:.*]]:2 = attend query %[[K:.*]] key %[[K]] value %{{.*}} decay %g causal normalize <sum, {{.*}}> {final_state, gate_heads = kv, signed_scores}
// CHECK:         %[[ZERO:.*]] = constant {value = 0.0, width = 1}
// CHECK:         %{{.*}}, %[[D:.*]] = attend query %[[ZERO]] key %[[ZERO]] value %[[ZERO]] decay %g initial %decay_before causal normalize <none> {final_state, gate_heads = kv}
// CHECK:         return %[[S]]#0, %[[S]]#1, %[[D]] :
polyattn.attention @all(%q: tensor<?x?x?x4xf32>, %w: tensor<4xf32>, %k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x4x4xf32>,
    %z: tensor<?x?x4xf32>, %first: tensor<?xi64>)
    -> (last_z: tensor<?x?x4xf32>, o: tensor<?x?x?x4xf32>, last: tensor<?x?x4x4xf32>) first_position %first {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %t = read %w : tensor<4xf32> -> 4
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %e = exp %a : [4]
  %f = exp %b : [4]
  %o:3 = attend query %e key %f value %b local %a, %b decay %g initial %s initial_normalizer %z causal normalize <sum, eps = 1.0>
      {final_state, block = 4, signed_scores, gate_heads = #polyattn.gate_heads<kv>}
    : [4], [4], [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>, tensor<?x?x4xf32>
  return %o#2, %o#0, %o#1 : tensor<?x?x4xf32>, [4], tensor<?x?x4x4xf32>
}

// -----

// With gates of query heads, which share keys, it is the queries that say how many states there are.

// CHECK-LABEL: polyattn.attention @query_gates__states(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %decay_before: tensor<?x?x1xf32>)
// CHECK:         attend query %[[Q:.*]] key %[[K:.*]] value %[[K]] decay %g causal
polyattn.attention @query_gates(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %b decay %g causal normalize <none>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [4], [4], [4], tensor<?x?x?xf32>
  return %o : [4]
}

// -----

polyattn.attention @full(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no states that segments compose by: with this mask a query sees keys of later segments}}
  %o = attend query %a key %a value %a full normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @largest(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %e = exp %a : [4]
  // expected-error@+1 {{has no states that segments compose by: with `eps_mode = row_max` the largest score of a row is not known}}
  %o = attend query %e key %e value %a causal normalize <sum, eps = 1.0e-6, eps_mode = row_max> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{decodes: its states live in its arguments, or its batches have lengths, and segments do not compose by them}}
polyattn.attention @lengths(%q: tensor<?x?x?x4xf32>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) lengths %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
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

// -----

polyattn.attention @sliding(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no states that segments compose by: its local window slides, so that queries of a segment see keys of the one before}}
  %o = attend query %x key %x value %x local %x, %x causal normalize <none> {block = 8, sliding} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @decay_of_features(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no states that segments compose by: its decay is one of each feature}}
  %o = attend query %x key %x value %x decay %g causal normalize <none> : [4], [4], [4], tensor<?x?x?x4xf32>
  return %o : [4]
}
