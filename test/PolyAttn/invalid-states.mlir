// RUN: polyattn-opt %s --split-input-file --verify-diagnostics

polyattn.attention @decay_under_full(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: a decay needs a mask with an order}}
  %s = state key %x value %x decay %g full : [4], [4], tensor<?x?x?xf32>
  return %x : [4]
}

// -----

polyattn.attention @initial_of_other_shape(%q: tensor<?x?x?x4xf32>, %i: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: expected an initial state tensor<?x?x4x4xf32>, got 'tensor<?x?x4x3xf32>'}}
  %s = state key %x value %x initial %i causal : [4], [4], tensor<?x?x4x3xf32>
  return %x : [4]
}

// -----

polyattn.attention @initial_under_full(%q: tensor<?x?x?x4xf32>, %i: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: an initial state needs the mask causal or anticausal}}
  %s = state key %x value %x initial %i full : [4], [4], tensor<?x?x4x4xf32>
  return %x : [4]
}

// -----

polyattn.attention @too_many_features(%q: tensor<?x?x?x512xf32>) -> (o: tensor<?x?x?x512xf32>) {
  %x = read %q : tensor<?x?x?x512xf32> -> [512]
  %p = power 3 %x {symmetric} : [512]
  // expected-error@+1 {{C3: a state has 1 to 16777216 features and values of 1 to 2147483647 elements, got 22500864 and 512}}
  %s = state key %p value %x causal : sym 3 [512], [512]
  return %x : [512]
}

// -----

polyattn.attention @empty_block(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C4: a block is positive and needs the mask causal or anticausal}}
  %s = state key %x value %x causal {block = 0 : i64} : [4], [4]
  return %x : [4]
}

// -----

polyattn.attention @two_normalizers(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C5: `last_apart` keeps the value's last element where a normalizer would be, and there is one}}
  %s = state key %x value %x causal {last_apart, normalizer} : [4], [4]
  return %x : [4]
}

// -----

polyattn.attention @two_initial_states(%q: tensor<?x?x?x4xf32>, %i: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %x value %x causal : [4], [4]
  // expected-error@+1 {{C19: an attend that reads a state has no initial state of its own}}
  %o = attend query %x key %x value %x initial %i state %s causal normalize <none> : [4], [4], [4], tensor<?x?x4x4xf32>, !polyattn.state<4x4>
  return %o : [4]
}

// -----

polyattn.attention @state_of_other_features(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %s = state key %x value %c causal : [4], [2]
  // expected-error@+1 {{C19: expected a state '!polyattn.state<4x4>', got '!polyattn.state<4x2>'}}
  %o = attend query %x key %x value %x state %s causal normalize <none> : [4], [4], [4], !polyattn.state<4x2>
  return %o : [4]
}

// -----

polyattn.attention @state_without_normalizer(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %x value %x causal : [4], [4]
  // expected-error@+1 {{C19: expected a state '!polyattn.state<4x4, normalizer>', got '!polyattn.state<4x4>'}}
  %o = attend query %x key %x value %x state %s causal normalize <sum, eps = 1.0e-6> {signed_scores} : [4], [4], [4], !polyattn.state<4x4>
  return %o : [4]
}

// -----

polyattn.attention @no_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{%x must be a state, got [4]}}
  %o = attend query %x key %x value %x state %x causal normalize <none> : [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @view_of_normalizer(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %x value %x causal {normalizer} : [4], [4]
  // expected-error@+1 {{C1: a state with a normalizer is read as it is}}
  %t = transpose_state %s : !polyattn.state<4x4, normalizer>
  return %x : [4]
}

// -----

polyattn.attention @rows_past_the_end(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %x value %x causal : [4], [4]
  // expected-error@+1 {{C1: rows 3 to 3 + 2 are not those of a state of 4 features}}
  %t = state_rows %s {first = 3 : i64, rows = 2 : i64} : !polyattn.state<4x4>
  return %x : [4]
}

// -----

polyattn.attention @rows_beyond_numbers(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %x value %x causal : [4], [4]
  // expected-error@+1 {{C1: rows 1 to 1 + 9223372036854775807 are not those of a state of 4 features}}
  %t = state_rows %s {first = 1 : i64, rows = 9223372036854775807 : i64} : !polyattn.state<4x4>
  return %x : [4]
}

// -----

polyattn.attention @times_nothing(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %x value %x causal : [4], [4]
  // expected-error@+1 {{C2: expected a finite number that is not 0}}
  %t = scale_state %s {factor = 0.0 : f64} : !polyattn.state<4x4>
  return %x : [4]
}

// -----

polyattn.attention @stack_of_other_values(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %s = state key %x value %x causal : [4], [4]
  %t = state key %x value %c causal : [4], [2]
  // expected-error@+1 {{C1: expected states of equally many elements of a value, got 4 and 2}}
  %u = stack_states %s, %t : !polyattn.state<4x4>, !polyattn.state<4x2>
  return %x : [4]
}

// -----

polyattn.attention @join_of_other_features(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %s = state key %x value %x causal : [4], [4]
  %t = state key %c value %x causal : [2], [4]
  // expected-error@+1 {{C1: expected states of equally many features, got 4 and 2}}
  %u = join_states %s, %t : !polyattn.state<4x4>, !polyattn.state<2x4>
  return %x : [4]
}

// -----

polyattn.attention @no_pairs(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %x value %x causal : [4], [4]
  // expected-error@+1 {{C1: expected the features of a symmetric square, got 4}}
  %u = unfold_pairs %s : !polyattn.state<4x4>
  return %x : [4]
}

// -----

// expected-error@+1 {{a state has features and the elements of a value, `2080x64`}}
func.func private @type(!polyattn.state<4>)

// -----

// expected-error@+1 {{a state has 1 to 16777216 features and values of 1 to 2147483647 elements, got 0 and 4}}
func.func private @empty(!polyattn.state<0x4>)

// -----

polyattn.attention @decay_of_features(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: a decay of each feature is that of a `channel_state`}}
  %t = state key %x value %x decay %g causal : [4], [4], tensor<?x?x?x4xf32>
  return %x : [4]
}

// -----

polyattn.attention @channels_of_heads(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: expected a decay of each feature, [B, T, H, D]}}
  %t = channel_state key %x value %x decay %g causal : [4], [4], tensor<?x?x?xf32>
  return %x : [4]
}

// -----

polyattn.attention @channels_of_others(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x3xf32>, %s: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: a decay is tensor<?x?x?xf32>, per token and head, tensor<?xf32>, per head, or tensor<?x?x?x4xf32>, per token and feature}}
  %t = channel_state key %x value %x decay %g causal : [4], [4], tensor<?x?x?x3xf32>
  return %x : [4]
}

// -----

polyattn.attention @channels_without_decay(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{expected one key, one value and at most one of each other operand, and a decay}}
  %t = channel_state key %x value %x causal : [4], [4]
  return %x : [4]
}

// -----

polyattn.attention @channels_backwards(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C4: a decay of each feature needs the mask causal}}
  %t = channel_state key %x value %x decay %g anticausal : [4], [4], tensor<?x?x?x4xf32>
  return %x : [4]
}

// -----

polyattn.attention @channels_of_a_narrow_state(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: expected an initial state tensor<?x?x4x4xf32>}}
  %t = channel_state key %x value %x decay %g initial %s causal : [4], [4], tensor<?x?x?x4xf32>, tensor<?x?x4x3xf32>
  return %x : [4]
}

// -----

polyattn.attention @view_of_channels(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %t = channel_state key %x value %x decay %g causal : [4], [4], tensor<?x?x?x4xf32>
  %u = transpose_state %t : !polyattn.state<4x4>
  // expected-error@+1 {{C20: a decay of each feature is that of a `channel_state`, which is read as it is}}
  %o = attend query %x key %x value %x decay %g state %u causal normalize <none> : [4], [4], [4], tensor<?x?x?x4xf32>, !polyattn.state<4x4>
  return %x : [4]
}
