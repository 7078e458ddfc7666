// Options of ops that mean nothing, and what would mean something else than it says.
// RUN: polyattn-opt %s -split-input-file -verify-diagnostics

polyattn.attention @decay_factor(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{'polyattn.attend' op has no attribute 'decay_factor'; did you mean 'decay_factors'?}}
  %o = attend query %a key %b value %b causal normalize <none> {decay_factor = array<f64: 0.5>}
    : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @final_stat(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no attribute 'final_stat'; did you mean 'final_state'?}}
  %o:2 = attend query %a key %b value %b causal normalize <none> {final_stat} : [4], [4], [4]
  return %o#0 : [4]
}

// -----

polyattn.attention @signed_score(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no attribute 'signed_score'; did you mean 'signed_scores'?}}
  %o = attend query %a key %b value %b causal normalize <sum, eps = 1.0e-6> {signed_score}
    : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @with_prefix(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no attribute 'polyattn.signed_score'; did you mean 'signed_scores'?}}
  %o = attend query %a key %b value %b causal normalize <none> {polyattn.signed_score}
    : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @nothing_near(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  // expected-error-re@+1 {{has no attribute 'heads'{{$}}}}
  %o = attend query %a key %b value %b causal normalize <none> {heads = 4} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @feature_op(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{'polyattn.layer_norm' op has no attribute 'esp'; did you mean 'eps'?}}
  %n = layer_norm %a {esp = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [4]
  %o = attend query %n key %b value %b causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{'polyattn.feature_map' op has no attribute 'sym_visibility'}}
polyattn.feature_map @map(%x: [4]) attributes {sym_visibility = "private"} {
  yield %x : [4]
}

// -----

// expected-error@+1 {{'polyattn.attention' op has no attribute 'grouping'}}
polyattn.attention @attention(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>)
    attributes {grouping = #polyattn.grouping<block>} {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// An attribute of another dialect is that dialect's.
polyattn.attention @foreign(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q {tile.note = 1 : i64} : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @negative_scale(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %ra = relu %a : [4]
  %rb = relu %b : [4]
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %ra key %rb value %b causal normalize <sum, eps = 1.0e-6> {score_scale = -1.0}
    : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @negative_scale_of_square(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %aa = power 2 %a {symmetric} : [4]
  %bb = power 2 %b {symmetric} : [4]
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %aa key %bb value %b causal normalize <bias, bias = 1.0> {score_scale = -0.5}
    : sym 2 [4], sym 2 [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @abs_one_side(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %aa = power 3 %a {symmetric, abs} : [4]
  %bb = power 3 %b {symmetric} : [4]
  // expected-error@+1 {{C14: query and key must take |score|, `exp_score` and `relative` at the same places}}
  %o = attend query %aa key %bb value %b causal normalize <none> : sym 3 [4], sym 3 [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @abs_other_term(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %aa = power 1 %a {abs} : [4]
  %pa = power 1 %a : [4]
  %bb = power 1 %b {abs} : [4]
  %pb = power 1 %b : [4]
  %s = concat %aa, %pa : pow 1 [4], pow 1 [4]
  %t = concat %pb, %bb : pow 1 [4], pow 1 [4]
  // expected-error@+1 {{C14: query and key must take |score|, `exp_score` and `relative` at the same places}}
  %o = attend query %s key %t value %b causal normalize <none>
    : pow 1 [4] + pow 1 [4], pow 1 [4] + pow 1 [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @abs_local(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %aa = power 1 %a {abs} : [4]
  %bb = power 1 %b : [4]
  // expected-error@+1 {{C14: local query and key must take |score|, `exp_score` and `relative` at the same places}}
  %o = attend query %bb key %bb value %b local %aa, %bb causal normalize <none> {block = 4}
    : pow 1 [4], pow 1 [4], [4], pow 1 [4], pow 1 [4]
  return %o : [4]
}

// -----

polyattn.feature_map @abs_below_tanh(%x: [4]) {
  %p = power 3 %x {symmetric, abs} : [4]
  %s = scale %p {factor = 2.0} : sym 3 [4]
  // expected-error@+1 {{'polyattn.tanh' op C14: takes the features of an odd power of |score|, which has none}}
  %y = tanh %s : sym 3 [4]
  yield %y : [20]
}

// -----

polyattn.feature_map @abs(%x: [4]) {
  %p = power 1 %x {abs} : [4]
  yield %p : pow 1 [4]
}
polyattn.feature_map @id(%x: pow 1 [4]) {
  yield %x : pow 1 [4]
}
polyattn.attention @abs_applied(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %p = apply @abs(%q) : tensor<?x?x?x4xf32> -> pow 1 [4]
  // expected-error@+1 {{'polyattn.apply' op C14: takes the features of an odd power of |score|}}
  %y = apply @id(%p) : pow 1 [4] -> pow 1 [4]
  %o = attend query %y key %y value %b causal normalize <none> : pow 1 [4], pow 1 [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @abs_value(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %p = power 1 %b {abs} : [4]
  // expected-error@+1 {{C14: takes the features of an odd power of |score|}}
  %o = attend query %a key %b value %p causal normalize <none> : [4], [4], pow 1 [4]
  return %o : [4]
}

// -----

polyattn.attention @abs_returned(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %b causal normalize <none> : [4], [4], [4]
  %p = power 1 %o {abs} : [4]
  // expected-error@+1 {{C14: takes the features of an odd power of |score|}}
  return %p : pow 1 [4]
}

// -----

polyattn.attention @relative_one_side(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  %one = constant {value = 1.0, width = 1}
  %x = tensor %r, %a : [1], [4]
  %y = tensor %one, %b : [1], [4]
  // expected-error@+1 {{C14: query and key must take |score|, `exp_score` and `relative` at the same places}}
  %o = attend query %x key %y value %b causal normalize <none> : [1] x [4], [1] x [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @relative_other_table(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>, %u: tensor<?x8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %d = read %u : tensor<?x8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  %s = relative %d {beyond = last} : 8
  // expected-error@+1 {{C14: query and key must take |score|, `exp_score` and `relative` at the same places}}
  %o = attend query %r key %s value %a causal normalize <none> : [1], [1], [4]
  return %o : [4]
}

// -----

polyattn.attention @relative_other_end(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  %s = relative %c {beyond = zero} : 8
  // expected-error@+1 {{C14: query and key must take |score|, `exp_score` and `relative` at the same places}}
  %o = attend query %r key %s value %a causal normalize <none> : [1], [1], [4]
  return %o : [4]
}

// -----

polyattn.feature_map @relative_projected(%x: [4], %c: 8, %w: 1x4) {
  %r = relative %c {beyond = last} : 8
  // expected-error@+1 {{C14: takes the features of a score by the distance of positions, which has none}}
  %y = project %r, %w : [1], 1x4
  yield %y : [4]
}

// -----

polyattn.attention @relative_returned(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>) -> (o: tensor<?x?x?x1xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  // expected-error@+1 {{C14: takes the features of a score by the distance of positions}}
  return %r : [1]
}

// -----

polyattn.attention @relative_state(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>) -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x1x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  // expected-error@+1 {{C9: a score by the distance of positions has no features and so no state}}
  %o, %s = attend query %r key %r value %a causal normalize <none> {final_state} : [1], [1], [4]
  return %o, %s : [4], tensor<?x?x1x4xf32>
}

// -----

polyattn.attention @relative_two_sided(%q: tensor<?x?x?x4xf32>, %t: tensor<?x9xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x9xf32> -> 9
  %r = relative %c {beyond = last, two_sided} : 9
  // expected-error@+1 {{C21: a two-sided table of lags is for the mask full: under `causal` a query sees keys on one side only}}
  %o = attend query %r key %r value %a causal normalize <none> : [1], [1], [4]
  return %o : [4]
}

// -----

polyattn.attention @relative_signed(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %r = relative %c {beyond = last} : 8
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %r key %r value %a causal normalize <bias, bias = 1.0> : [1], [1], [4]
  return %o : [4]
}

// -----

polyattn.attention @slope_as_query(%q: tensor<?x?x?x4xf32>, %t: tensor<?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x4xf32> -> 4
  // expected-error@+1 {{C2: only attends take it, as value, but polyattn.attend uses it}}
  %s = relative_slope %c {beyond = last} : 4
  %o = attend query %s key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @slope_normalized(%q: tensor<?x?x?x4xf32>, %t: tensor<?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x4xf32> -> 4
  %s = relative_slope %c {beyond = last} : 4
  // expected-error@+1 {{C22: a `relative_slope` as value needs `normalize <none>`, and no state, `products` or `of_keys`}}
  %o = attend query %a key %a value %s causal normalize <bias, bias = 1.0> {signed_scores} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @slope_returned(%q: tensor<?x?x?x4xf32>, %t: tensor<?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x4xf32> -> 4
  %s = relative_slope %c {beyond = last} : 4
  // expected-error@+1 {{C22: only the gradient of a table takes its rows by lag, but polyattn.return uses them}}
  %o = attend query %a key %a value %s causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @slope_two_sided(%q: tensor<?x?x?x4xf32>, %t: tensor<?x5xf32>) -> (d_t: tensor<?x5xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x5xf32> -> 5
  %s = relative_slope %c {beyond = last, two_sided} : 5
  // expected-error@+1 {{C21: a two-sided table of lags is for the mask full}}
  %o = attend query %a key %a value %s causal normalize <none> : [4], [4], [5]
  %d = weight_gradient %o : [5]
  return %d : 5
}

// -----

polyattn.attention @one_row(%q: tensor<?x?x?x1xf32>, %w: tensor<?x1x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x1xf32> -> [1]
  // expected-error@+1 {{C1: 'tensor<?x1x4xf32>' cannot be read as '!polyattn.weight<1x4>': it is a vector for each position; a weight of one row for each head is a vector, 'tensor<?x4xf32>'}}
  %weight = read %w : tensor<?x1x4xf32> -> 1x4
  %p = project %a, %weight : [1], 1x4
  %o = attend query %p key %p value %p causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.feature_map @row(%x: [1], %w: 1x4) {
  %y = project %x, %w : [1], 1x4
  yield %y : [4]
}
polyattn.attention @one_row_applied(%q: tensor<?x?x?x1xf32>, %w: tensor<?x1x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  // expected-error@+1 {{a weight of one row for each head is a vector, 'tensor<?x4xf32>'}}
  %p = apply @row(%q, %w) : tensor<?x?x?x1xf32>, tensor<?x1x4xf32> -> [4]
  %o = attend query %p key %p value %p causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.feature_map @exponential_projected(%x: [4], %w: 1x4) {
  %e = exp_score %x : [4]
  // expected-error@+1 {{C14: takes the features of the exponential of a score, which has none}}
  %y = project %e, %w : exp [4], 1x4
  yield %y : [4]
}

// -----

polyattn.attention @exponential_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x1x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %e = exp_score %a : [4]
  // expected-error@+1 {{C9: the exponential of a score has no features and so no state}}
  %o, %s = attend query %e key %e value %a causal normalize <none> {final_state} : exp [4], exp [4], [4]
  return %o, %s : [4], tensor<?x?x1x4xf32>
}

// -----

polyattn.attention @exponential_one_side(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = constant {value = 1.0, width = 1}
  %e = exp_score %c : [1]
  // expected-error@+1 {{C1: query and key have different structures, '!polyattn.feature<exp [1]>' and '!polyattn.feature<[1]>'}}
  %o = attend query %e key %c value %a causal normalize <none> : exp [1], [1], [4]
  return %o : [4]
}

// -----

polyattn.attention @window_empty(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C23: a window has 1 to 2147483647 positions, got 0}}
  %o = attend query %a key %a value %a causal normalize <none> {window = 0} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @window_state(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C23: a window leaves out keys, which a state has}}
  %o = attend query %a key %a value %a initial %s causal normalize <none> {window = 8} : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @window_local(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C23: a window leaves out keys, which a state has}}
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {window = 8, block = 4} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @window_mean(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C23: a mean is over all keys of the mask, not over those of a window}}
  %o = attend query %a key %a value %a causal normalize <none, reduce = mean> {window = 8} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @sliding_alone(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C25: `sliding` says which pairs have local scores, and there are no local vectors}}
  %o = attend query %a key %a value %a causal normalize <none> {block = 8, sliding} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @sliding_without_block(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: a local kernel needs the mask causal or anticausal, and a block}}
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {sliding} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @sliding_decay(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C25: `sliding` is not for decays, states after blocks and `products`}}
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 8, sliding, decay_factors = array<f64: 0.5>} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @sliding_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x4x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C25: `sliding` has states in and out only where a ring keeps the keys of the window for the next call: there is no `keep`}}
  %o, %s = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 8, sliding, final_state} : [4], [4], [4], [4], [4]
  return %o, %s : [4], tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @softmax_decay(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C24: a softmax has exponentials of scores, which have no features: it is not for states, local vectors or decays}}
  %o = attend query %a key %a value %a causal normalize <softmax> {decay_factors = array<f64: 0.5>} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @softmax_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x4x4xf32>, z: tensor<?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C24: a softmax has exponentials of scores, which have no features}}
  %o, %s, %z = attend query %a key %a value %a causal normalize <softmax> {final_state} : [4], [4], [4]
  return %o, %s, %z : [4], tensor<?x?x4x4xf32>, tensor<?x?x4xf32>
}

// -----

polyattn.attention @window_without_rows(%q: tensor<?x?x?x4xf32>, %s: tensor<?xi32>, %f: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>) first_position %f slots %s {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: with slots a window needs the rows of the calls before: there is no `keep`}}
  %o = attend query %a key %a value %a causal normalize <softmax> {window = 8} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @short_ring(%q: tensor<?x?x?x4xf32>, %p: tensor<?x?x16x4xf32>, %s: tensor<?xi32>, %f: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>, r: tensor<?x?x16x4xf32> in %p) first_position %f slots %s {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C10: a window of 8 positions needs a ring of at least 32 rows, got 'tensor<?x?x16x4xf32>'}}
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o = attend query %a key %a value %a causal normalize <softmax> {window = 8} : [4], [4], [4]
  return %o, %k : [4], tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @sliding_without_rows(%q: tensor<?x?x?x4xf32>, %s: tensor<?xi32>, %f: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>) first_position %f slots %s {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: with slots or lengths local vectors need the rows of their window, which reaches into the calls before: there is no `keep`}}
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 8, sliding} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @sliding_without_state(%q: tensor<?x?x?x4xf32>, %p: tensor<?x?x32x4xf32>, %s: tensor<?xi32>, %f: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>, r: tensor<?x?x32x4xf32> in %p) first_position %f slots %s {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x32x4xf32>
  // expected-error@+1 {{C8: with slots a state begins and ends in a pool}}
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 8, sliding} : [4], [4], [4], [4], [4]
  return %o, %k : [4], tensor<?x?x32x4xf32>
}

// -----

// A ring of the window alone lacks the key that the state takes in next.
polyattn.attention @short_sliding_ring(%q: tensor<?x?x?x4xf32>, %i: tensor<?x?x4x4xf32>, %p: tensor<?x?x32x4xf32>, %s: tensor<?xi32>, %f: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>, t: tensor<?x?x4x4xf32> in %i, r: tensor<?x?x32x4xf32> in %p) first_position %f slots %s {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C10: a window of 18 positions needs a ring of at least 48 rows, got 'tensor<?x?x32x4xf32>'}}
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x32x4xf32>
  %o:2 = attend query %a key %a value %a local %a, %a initial %i causal normalize <none> {block = 18, sliding, final_state} : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k : [4], tensor<?x?x4x4xf32>, tensor<?x?x32x4xf32>
}

// -----

polyattn.attention @ring_decay(%q: tensor<?x?x?x4xf32>, %p: tensor<?x?x32x4xf32>, %s: tensor<?xi32>, %f: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>, r: tensor<?x?x32x4xf32> in %p) first_position %f slots %s {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x32x4xf32>
  // expected-error@+1 {{C10: a window with a decay is one of a call's own keys alone}}
  %o = attend query %a key %a value %a causal normalize <none> {window = 8, decay_factors = array<f64: 0.5>} : [4], [4], [4]
  return %o, %k : [4], tensor<?x?x32x4xf32>
}

// -----

polyattn.attention @ragged_ring(%q: tensor<?x?x?x4xf32>, %p: tensor<?x?x40x4xf32>, %s: tensor<?xi32>, %f: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>, r: tensor<?x?x40x4xf32> in %p) first_position %f slots %s {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: a ring has a multiple of 16 rows of a tensor [B, T, H, d], got 'tensor<?x?x40x4xf32>'}}
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x40x4xf32>
  %o = attend query %a key %a value %a causal normalize <softmax> {window = 8} : [4], [4], [4]
  return %o, %k : [4], tensor<?x?x40x4xf32>
}

// -----

polyattn.attention @window_too_long(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C23: a window has 1 to 2147483647 positions, got 9223372036854775807}}
  %o = attend query %a key %a value %a full normalize <softmax> {window = 9223372036854775807} : [4], [4], [4]
  return %o : [4]
}
