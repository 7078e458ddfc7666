// What has no gradient, and where.
// RUN: polyattn-opt --polyattn-differentiate %s -split-input-file -verify-diagnostics

polyattn.attention @row_max(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %a = exp %x : [4]
  // expected-error@+1 {{has no gradient with `eps_mode = row_max`}}
  %o = attend query %a key %a value %x causal normalize <sum, eps = 1.0e-6, eps_mode = row_max>
    : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @second(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{is a gradient: second derivatives are not supported}}
  %a, %b, %c = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x causal
    : [4], [4], [4], [4], [4], [4]
  return %a : [4]
}

// -----

polyattn.attention @second_of_gelu(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no derivative: second derivatives are not supported}}
  %o = gelu_slope %x {form = #polyattn.gelu_form<erf>} : [4]
  return %o : [4]
}

// -----

polyattn.feature_map @phi(%x: [4]) {
  yield %x : [4]
}
polyattn.attention @applied(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  // expected-error@+1 {{maps must be inlined}}
  %o = apply @phi(%q) : tensor<?x?x?x4xf32> -> [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{has no gradient: no result depends on what it is differentiated by}}
polyattn.attention @constant(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %o = constant {value = 1.0, width = 4}
  return %o : [4]
}

// -----

polyattn.attention @shared_state_of_other_heads(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>,
                                                %s: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = exp %x : [4]
  // expected-error@+1 {{takes the state 's' with other `gate_heads` than another attend, and sums of such gradients are not supported: give each attend an argument of its own and add their gradients, or do not differentiate by 's'}}
  %a = attend query %x key %x value %x decay %g initial %s causal normalize <none>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>
  %b = attend query %y key %x value %x initial %s causal normalize <none>
    : [4], [4], [4], tensor<?x?x4x4xf32>
  %o = add %a, %b : [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @shared_decay_of_other_heads(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = exp %x : [4]
  // expected-error@+1 {{takes the decay 'g' with another `grouping` or other `gate_heads` than another attend, and sums of such gradients are not supported: give each attend an argument of its own and add their gradients, or do not differentiate by 'g'}}
  %a = attend query %x key %x value %x decay %g causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [4], [4], [4], tensor<?x?x?xf32>
  %b = attend query %y key %x value %x decay %g causal normalize <none>
      {grouping = #polyattn.grouping<interleaved>}
    : [4], [4], [4], tensor<?x?x?xf32>
  %o = add %a, %b : [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @decay_of_features(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has no gradient yet: its decay is one of each feature}}
  %o = attend query %x key %x value %x decay %g causal normalize <none> : [4], [4], [4], tensor<?x?x?x4xf32>
  return %o : [4]
}
