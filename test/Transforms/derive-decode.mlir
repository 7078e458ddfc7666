// RUN: polyattn-opt %s --split-input-file --polyattn-derive-decode --verify-diagnostics | FileCheck %s

// CHECK-LABEL: polyattn.attention @plain__decode(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %state: tensor<?x?x4x8xf32>, %slots: tensor<?xi32>, %first_position: tensor<?xi64>, %lengths: tensor<?xi32>) -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x4x8xf32> in %state) first_position %first_position slots %slots lengths %lengths {
// CHECK:         attend query {{.*}} initial %state causal normalize <none> {final_state}
polyattn.attention @plain(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %a value %c causal normalize <none> : [4], [4], [8]
  return %o : [8]
}

// -----

// States and first positions that are there keep their names; other names give way.

// CHECK-LABEL: polyattn.attention @two__decode(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %z: tensor<?x?x4xf32>, %state: tensor<?xi64>, %state2: tensor<?x?x10x4xf32>, %slots: tensor<?xi32>, %lengths: tensor<?xi32>)
// CHECK-SAME:    -> (o: tensor<?x?x?x4xf32>, final_normalizer: tensor<?x?x4xf32> in %z, final: tensor<?x?x4x4xf32> in %s, final2: tensor<?x?x10x4xf32> in %state2) first_position %state slots %slots lengths %lengths
polyattn.attention @two(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %z: tensor<?x?x4xf32>, %state: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, final_normalizer: tensor<?x?x4xf32>) first_position %state {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %aa = power 2 %a {symmetric} : [4]
  %e = exp %a : [4]
  %o:3 = attend query %e key %e value %a initial %s initial_normalizer %z causal normalize <sum, eps = 0.0> {final_state}
    : [4], [4], [4], tensor<?x?x4x4xf32>, tensor<?x?x4xf32>
  %p = attend query %aa key %aa value %a causal normalize <none> : sym 2 [4], sym 2 [4], [4]
  %r = add %o#0, %p : [4], [4]
  return %r, %o#2 : [4], tensor<?x?x4xf32>
}

// -----

// Packed sequences have their lengths from their offsets.

// CHECK-LABEL: polyattn.attention @packed__decode(%q: tensor<?x?x?x4xf32>, %at: tensor<?xi32>, %state: tensor<?x?x4x4xf32>, %slots: tensor<?xi32>, %first_position: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>, final: tensor<?x?x4x4xf32> in %state) first_position %first_position slots %slots packed %at {
polyattn.attention @packed(%q: tensor<?x?x?x4xf32>, %at: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// Local vectors have the rows of their block kept, of what keys and values are read from and of decays.

// CHECK-LABEL: polyattn.attention @local__decode(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %g: tensor<?x?x?xf32>, %state: tensor<?x?x4x8xf32>, %local_keys: tensor<?x?x16x4xf32>, %local_values: tensor<?x?x16x8xf32>, %local_decay: tensor<?x?x16xf32>, %slots: tensor<?xi32>, %first_position: tensor<?xi64>, %lengths: tensor<?xi32>)
// CHECK-SAME:    -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x4x8xf32> in %state, final_local_keys: tensor<?x?x16x4xf32> in %local_keys, final_local_values: tensor<?x?x16x8xf32> in %local_values, final_local_decay: tensor<?x?x16xf32> in %local_decay) first_position %first_position slots %slots lengths %lengths {
// CHECK:         %[[KEYS:.*]] = keep %q in %local_keys : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
// CHECK:         %[[VALUES:.*]] = keep %v in %local_values : tensor<?x?x?x8xf32>, tensor<?x?x16x8xf32>
// CHECK:         %[[DECAY:.*]] = keep %g in %local_decay : tensor<?x?x?xf32>, tensor<?x?x16xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[KEYS]], %[[VALUES]], %[[DECAY]]
polyattn.attention @local(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %a value %b local %a, %a decay %g causal normalize <none> {block = 16}
    : [4], [4], [8], [4], [4], tensor<?x?x?xf32>
  return %o : [8]
}

// -----

polyattn.attention @two_blocks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 4}
    : [4], [4], [4], [4], [4]
  // expected-error@+1 {{does not decode beside attends of other local blocks, or of none: its state would be at another position}}
  %p = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %r = add %o, %p : [4], [4]
  return %r : [4]
}

// -----

polyattn.attention @full(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{does not decode with this mask: a token would see later ones}}
  %o = attend query %a key %a value %a full normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{decodes already}}
polyattn.attention @lengths(%q: tensor<?x?x?x4xf32>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) lengths %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @row_max(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %e = exp %a : [4]
  // expected-error@+1 {{does not decode: with `eps_mode = row_max` the largest score of a row is not known from a state}}
  %o = attend query %e key %e value %a causal normalize <sum, eps = 1.0, eps_mode = row_max> : [4], [4], [4]
  return %o : [4]
}

// -----

// A state that is several results has one pool, and is one result, by its first name.

// CHECK-LABEL: polyattn.attention @returned_twice__decode(
// CHECK-SAME:    -> (f: tensor<?x?x4x4xf32> in %state, o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) first_position
// CHECK:         %[[O:.*]], %[[F:.*]] = attend
// CHECK:         return %[[F]], %[[O]], %[[O]] : tensor<?x?x4x4xf32>, [4], [4]
polyattn.attention @returned_twice(%q: tensor<?x?x?x4xf32>)
    -> (f: tensor<?x?x4x4xf32>, o: tensor<?x?x?x4xf32>, g: tensor<?x?x4x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a causal normalize <none> {final_state} : [4], [4], [4]
  return %o#1, %o#0, %o#1, %o#0 : tensor<?x?x4x4xf32>, [4], tensor<?x?x4x4xf32>, [4]
}

// -----

polyattn.attention @shared_state(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %b initial %s causal normalize <none> : [4], [4], [4], tensor<?x?x4x4xf32>
  // expected-error@+1 {{does not decode: it begins with "s", as another attend does, and a pool keeps the final state of one attend; give each attend a state of its own}}
  %p = attend query %a key %a value %b initial %s causal normalize <none> : [4], [4], [4], tensor<?x?x4x4xf32>
  %r = add %o, %p : [4], [4]
  return %r : [4]
}

// -----

// A result that lives in an argument has its type, be it with a last dimension of 1 or without.

// CHECK-LABEL: polyattn.attention @column__decode(
// CHECK-SAME:    %s: tensor<?x?x4xf32>, {{.*}} -> (o: tensor<?x?x?x1xf32>, f: tensor<?x?x4xf32> in %s)
polyattn.attention @column(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x1xf32>, %s: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x1xf32>, f: tensor<?x?x4x1xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x1xf32> -> [1]
  %o:2 = attend query %a key %a value %c initial %s causal normalize <none> {final_state} : [4], [4], [1], tensor<?x?x4xf32>
  return %o#0, %o#1 : [1], tensor<?x?x4x1xf32>
}

// -----

polyattn.attention @softmax(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{does not decode: a softmax has exponentials of scores, which have no features}}
  %o = attend query %a key %a value %a causal normalize <softmax> : [4], [4], [4]
  return %o : [4]
}

// -----

// A window keeps rows of the last positions: a multiple of 16, with room for the window from the first
// position of a block on. A state beside it has a pool of its own.
// CHECK-LABEL: polyattn.attention @window__decode(
// CHECK-SAME:    %window_keys: tensor<?x?x80x4xf32>
// CHECK-SAME:    final_window_keys: tensor<?x?x80x4xf32> in %window_keys
// CHECK-NOT:     initial
// CHECK:         [[KEYS:%.*]] = keep %q in %window_keys
// CHECK:         return {{.*}}, [[KEYS]]
polyattn.attention @window(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <softmax> {window = 8} : [4], [4], [4]
  %p = attend query %a key %a value %a causal normalize <none> {window = 65} : [4], [4], [4]
  return %o, %p : [4], [4]
}

// -----

// Where local vectors slide, the ring has the window and the key that the state takes in next. Beside
// it there may be states of all keys, and windows.
// CHECK-LABEL: polyattn.attention @sliding__decode(
// CHECK-SAME:    %state: tensor<?x?x4x4xf32>, %state2: tensor<?x?x4x4xf32>, %window_keys: tensor<?x?x48x4xf32>
// CHECK:         attend {{.*}} initial %state causal normalize <none> {block = 18, final_state, sliding}
// CHECK:         attend {{.*}} initial %state2 causal normalize <none> {final_state}
// CHECK:         attend {{.*}} {window = 8}
// CHECK:         keep %q in %window_keys
polyattn.attention @sliding(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x local %x, %x causal normalize <none> {block = 18, sliding} : [4], [4], [4], [4], [4]
  %p = attend query %x key %x value %x causal normalize <none> : [4], [4], [4]
  %w = attend query %x key %x value %x causal normalize <softmax> {window = 8} : [4], [4], [4]
  %s = add %o, %p : [4], [4]
  %r = add %s, %w : [4], [4]
  return %r : [4]
}

// -----

polyattn.attention @sliding_beside_blocks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{does not decode beside attends with local blocks: rows of the calls before are kept for blocks or for windows, not for both}}
  %o = attend query %x key %x value %x local %x, %x causal normalize <none> {block = 8, sliding} : [4], [4], [4], [4], [4]
  %p = attend query %x key %x value %x local %x, %x causal normalize <none> {block = 8} : [4], [4], [4], [4], [4]
  %r = add %o, %p : [4], [4]
  return %r : [4]
}

// -----

// CHECK-LABEL: polyattn.attention @hybrid__decode(
// CHECK-SAME:    %state: tensor<?x?x4x4xf32>, %window_keys: tensor<?x?x32x4xf32>
// CHECK:         attend {{.*}} initial %state
// CHECK:         attend {{.*}} {window = 8}
polyattn.attention @hybrid(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %p = attend query %a key %a value %a causal normalize <softmax> {window = 8} : [4], [4], [4]
  %r = add %o, %p : [4], [4]
  return %r : [4]
}

// -----

polyattn.attention @decayed_window(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{does not decode: a window with a decay is one of a call's own keys alone}}
  %o = attend query %a key %a value %a causal normalize <none> {window = 8, decay_factors = array<f64: 0.5>} : [4], [4], [4]
  return %o : [4]
}

// -----

// Scores by the distance reach into the ring as others do.
// CHECK-LABEL: polyattn.attention @biased_window__decode(
// CHECK-SAME:    %window_keys: tensor<?x?x32x4xf32>
// CHECK:         attend {{.*}} {window = 8}
polyattn.attention @biased_window(%q: tensor<?x?x?x4xf32>, %t: tensor<8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  %b = concat %a, %r : [4], [1]
  %o = attend query %b key %b value %a causal normalize <softmax> {window = 8} : [4] + [1], [4] + [1], [4]
  return %o : [4]
}

// -----

// A table that ends is a window, and may shorten the one that is there. Features beside it keep their state.
// CHECK-LABEL: polyattn.attention @ended_tables__decode(
// CHECK-SAME:    %state: tensor<?x?x4x4xf32>, %window_keys: tensor<?x?x64x4xf32>
// CHECK:         attend {{.*}} {window = 40}
// CHECK:         attend {{.*}} {window = 40}
// CHECK:         attend {{.*}} initial %state
polyattn.attention @ended_tables(%q: tensor<?x?x?x4xf32>, %t: tensor<40xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<40xf32> -> 40
  %r = relative %c {beyond = zero} : 40
  %b = tensor %a, %r : [4], [1]
  %o = attend query %b key %b value %a causal normalize <none> : [4] x [1], [4] x [1], [4]
  %p = attend query %b key %b value %a causal normalize <none> {window = 300} : [4] x [1], [4] x [1], [4]
  %s = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %op = add %o, %p : [4], [4]
  %ops = add %op, %s : [4], [4]
  return %ops : [4]
}

// -----

// A table of all distances that sequences have is a window that they never leave, of any rows.
// CHECK-LABEL: polyattn.attention @covered_softmax__decode(
// CHECK-SAME:    %window_keys: tensor<?x?x64x4xf32>
// CHECK:         attend {{.*}} normalize <softmax> {window = 40}
polyattn.attention @covered_softmax(%q: tensor<?x?x?x4xf32>, %t: tensor<40xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<40xf32> -> 40
  %r = relative %c {beyond = error} : 40
  %b = concat %a, %r : [4], [1]
  %o = attend query %b key %b value %a causal normalize <softmax> : [4] + [1], [4] + [1], [4]
  return %o : [4]
}

// -----

// Where pairs beyond the table have a score all the same, every key would be kept.
polyattn.attention @ended_softmax(%q: tensor<?x?x?x4xf32>, %t: tensor<8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<8xf32> -> 8
  %r = relative %c {beyond = zero} : 8
  %b = tensor %a, %r : [4], [1]
  // expected-error@+1 {{does not decode: a softmax has exponentials of scores, which have no features}}
  %o = attend query %b key %b value %a causal normalize <softmax> : [4] x [1], [4] x [1], [4]
  return %o : [4]
}

// -----

polyattn.attention @endless_table(%q: tensor<?x?x?x4xf32>, %t: tensor<8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  %b = tensor %a, %r : [4], [1]
  // expected-error@+1 {{does not decode: a score by the distance of positions has no features}}
  %o = attend query %b key %b value %a causal normalize <none> : [4] x [1], [4] x [1], [4]
  return %o : [4]
}

// -----

// A table does not make a ring of gates.
polyattn.attention @ended_decay(%q: tensor<?x?x?x4xf32>, %t: tensor<8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<8xf32> -> 8
  %r = relative %c {beyond = zero} : 8
  %b = tensor %a, %r : [4], [1]
  // expected-error@+1 {{does not decode: a window with a decay is one of a call's own keys alone}}
  %o = attend query %b key %b value %a causal normalize <none> {decay_factors = array<f64: 0.5>} : [4] x [1], [4] x [1], [4]
  return %o : [4]
}

// -----

polyattn.attention @local_beside_window(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 4} : [4], [4], [4], [4], [4]
  // expected-error@+1 {{does not decode beside attends with local blocks: rows of the calls before are kept for blocks or for windows, not for both}}
  %p = attend query %a key %a value %a causal normalize <softmax> {window = 8} : [4], [4], [4]
  %r = add %o, %p : [4], [4]
  return %r : [4]
}
