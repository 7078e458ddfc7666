// One test for each numbered constraint of attend_backward, weight_gradient, filter_gradient, decay_gradient, add_states and add_gradients, and of what attentions
// and attends say of gradients.
// RUN: polyattn-opt %s -split-input-file -verify-diagnostics

polyattn.attention @attend_backward_c1_structures(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C1: query and key have different structures}}
  %r:3 = attend_backward query %xx leaves (%x) key %t leaves (%x) value %c gradient %c full
    : sym 2 [4], [4], pow 2 [4], [4], [2], [2]
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c1_width(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C1: expected a gradient as wide as the value, 2}}
  %r:3 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %x full
    : [4], [4], [4], [4], [2], [4]
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c1_denominator(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C1: expected one number as gradient of the denominator}}
  %r:3 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c, %c full
    : [4], [4], [4], [4], [2], [2], [2]
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c2(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C2: expected the leaves of}}
  %r:2 = attend_backward query %xx leaves () key %xx leaves (%x) value %c gradient %c full
    : sym 2 [4], sym 2 [4], [4], [2], [2]
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c2_structure(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C2: expected the leaves of}}
  %r:3 = attend_backward query %xx leaves (%xx) key %xx leaves (%x) value %c gradient %c full
    : sym 2 [4], sym 2 [4], sym 2 [4], [4], [2], [2]
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c3(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C3: local vectors have equal structures, the mask causal or anticausal and a block}}
  %r:5 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c
      local_query %x leaves (%x) local_key %x leaves (%x) gradient %c causal
    : [4], [4], [4], [4], [2], [4], [4], [4], [4], [2]
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c4(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C4: a decay needs a mask with an order}}
  %r:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c decay %g full
    : [4], [4], [4], [4], [2], [2], tensor<?x?x?xf32>
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c4_shape(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %g: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C4: a decay is tensor<?x?x?xf32>}}
  %r:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c decay %g causal
    : [4], [4], [4], [4], [2], [2], tensor<?x?x4xf32>
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c4_features(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %g: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C4: a decay of each feature has no gradient yet}}
  %r:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c decay %g causal
    : [4], [4], [4], [4], [2], [2], tensor<?x?x?x4xf32>
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c5_mask(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %s: tensor<?x?x4x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C5: states need the mask causal or anticausal}}
  %r:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c initial %s full
    : [4], [4], [4], [4], [2], [2], tensor<?x?x4x2xf32>
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c5_shape(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %s: tensor<?x?x4x3xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C5: expected states tensor<?x?x4x2xf32>}}
  %r:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c initial %s causal
    : [4], [4], [4], [4], [2], [2], tensor<?x?x4x3xf32>
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c5_normalizer(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %s: tensor<?x?x4x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C5: an initial normalizer is given where, and only where}}
  %r:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c, %n initial %s causal
    : [4], [4], [4], [4], [2], [2], [1], tensor<?x?x4x2xf32>
  return %x : [4]
}

// -----

polyattn.attention @attend_backward_c5_final(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %s: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C5: a final normalizer has a gradient only where the denominator has one}}
  %r:3 = attend_backward query %x leaves (%x) key %x leaves (%x) value %c gradient %c
      final_normalizer_gradient %s causal
    : [4], [4], [4], [4], [2], [2], tensor<?x?x4xf32>
  return %x : [4]
}

// -----

polyattn.attention @weight_gradient_c2(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C2: expected vectors of one width, got 4 and 2}}
  %w = weight_gradient (%x, %c), (%c, %c) : ([4], [2]), ([2], [2])
  return %x : [4]
}

// -----

polyattn.attention @weight_gradient_weights(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %w: tensor<4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{operands are feature vectors}}
  %dw = weight_gradient %x : 4
  return %x : [4]
}

// -----

polyattn.attention @attend_c15(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C15: rows that are divided by nothing have no factors}}
  %o, %f = attend query %x key %x value %c causal normalize <none> {factors} : [4], [4], [2]
  return %x : [4]
}

// -----

polyattn.attention @attend_c15_row_max(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %n = sum %c : [2]
  %xx = power 2 %x {symmetric} : [4]
  %t = power 2 %x : [4]
  // expected-error@+1 {{C15: }}
  %o, %f = attend query %x key %x value %c causal normalize <sum, eps = 1.0, eps_mode = row_max>
      {factors, signed_scores} : [4], [4], [2]
  return %x : [4]
}

// -----

polyattn.attention @attend_c16(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C16: a sum over query heads has `normalize <none>`}}
  %o = attend query %x key %x value %x causal normalize <none, reduce = mean> {of_keys} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @weight_gradient_c3(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C3: the gradient of a weight can only be returned, but polyattn.mul_vec uses it}}
  %w = weight_gradient %x : [4]
  %y = mul_vec %x, %w : [4], 4
  return %y : [4]
}

// -----

polyattn.attention @weight_gradient_c1(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+2 {{C1: expected gradients, and an input for each of them or none, got 0 gradients}}
  // expected-error@+1 {{failed to infer returned types}}
  %w = "polyattn.weight_gradient"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>}>
    : (!polyattn.feature<[4]>) -> !polyattn.weight<4>
  return %x : [4]
}

// -----

polyattn.attention @filter_gradient_c1(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+2 {{C1: expected pairs of a vector and a gradient, got 0 vectors and 1 gradients}}
  // expected-error@+1 {{failed to infer returned types}}
  %h = "polyattn.filter_gradient"(%x) <{lags = 3 : i64, operandSegmentSizes = array<i32: 0, 1, 0>}>
    : (!polyattn.feature<[4]>) -> !polyattn.weight<3x4>
  return %x : [4]
}

// -----

polyattn.attention @filter_gradient_c1_width(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>) -> (h: tensor<3x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %v : tensor<?x?x?x2xf32> -> [2]
  // expected-error@+1 {{C1: expected vectors of one width, got 4 and 2}}
  %h = filter_gradient (%x, %y) {lags = 3} : ([4], [2])
  return %h : 3x4
}

// -----

polyattn.attention @filter_gradient_c2(%q: tensor<?x?x?x4xf32>) -> (h: tensor<3x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: expected 1 to 16777216 lags, got 0}}
  %h = filter_gradient (%x, %x) {lags = 0} : ([4], [4])
  return %h : 3x4
}

// -----

polyattn.attention @filter_gradient_c3(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C3: the gradient of a filter can only be returned, but polyattn.mul_vec uses it}}
  %h = filter_gradient (%x, %x) {lags = 4, shared_channels} : ([4], [4])
  %y = mul_vec %x, %h : [4], 4
  return %y : [4]
}

// -----

// expected-error@+1 {{C2: the gradient of a weight must be f32, not 'bf16'}}
polyattn.attention @attention_c2_gradient(%q: tensor<?x?x?x4xbf16>) -> (o: tensor<4xbf16>) {
  %x = read %q : tensor<?x?x?x4xbf16> -> [4]
  %w = weight_gradient %x : [4]
  return %w : 4
}

// -----

// expected-error@+1 {{C3: a result 'tensor<5xf32>' is given a '!polyattn.weight<4>'}}
polyattn.attention @attention_c3_gradient(%q: tensor<?x?x?x4xf32>) -> (o: tensor<5xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %w = weight_gradient %x : [4]
  return %w : 4
}

// -----

// expected-error@+1 {{C3: a result is a weight, but no gradient of one}}
polyattn.attention @attention_c3_weight(%u: tensor<4xf32>) -> (o: tensor<4xf32>) {
  %w = read %u : tensor<4xf32> -> 4
  return %w : 4
}

// -----

// expected-error@+1 {{C2: argument "f" holds 'f32' where other sequences hold 'bf16'}}
polyattn.attention @attention_c2_not_saved(%q: tensor<?x?x?x4xbf16>, %f: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %q : tensor<?x?x?x4xbf16> -> [4]
  %y = read %f : tensor<?x?x?x2xf32> -> [2]
  return %x : [4]
}

// -----

// expected-error@+1 {{C6: there is no argument 'o' to be saved}}
polyattn.attention @attention_c6_saved(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>)
    attributes {saved = ["o"]} {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  return %x : [4]
}

// -----

// expected-error@+1 {{C6: there is no argument or result 'd_q' to be a gradient}}
polyattn.attention @attention_c6_gradient(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>)
    attributes {gradient_of = {d_q = "q"}} {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  return %x : [4]
}

// -----

// expected-error@+1 {{C6: 'o' is the gradient of a name, not of 1}}
polyattn.attention @attention_c6_name(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>)
    attributes {gradient_of = {o = 1}} {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  return %x : [4]
}

// -----

polyattn.attention @attend_c17_width(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = sum %x : [4]
  // expected-error@+1 {{C17: expected products with a vector as wide as the value, 4}}
  %o, %p = attend query %x key %x value %x decay %g products %y causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [1]
  return %o : [4]
}

// -----

polyattn.attention @attend_c17_mask(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C17: products need the mask causal or anticausal and `normalize <none>`}}
  %o, %p = attend query %x key %x value %x products %x full normalize <none> : [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c17_users(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C17: products are for gradients of decays, but polyattn.add uses them}}
  %o, %p = attend query %x key %x value %x decay %g products %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %y = add %p, %p : [1], [1]
  return %o : [4]
}

// -----

polyattn.attention @decay_gradient_c1_masks(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %x key %x value %x decay %g products %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %v, %r = attend query %x key %x value %x decay %g products %x anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  // expected-error@+1 {{C1: expected `products` of causal attends as queries}}
  %dg = decay_gradient %g queries %r keys %p : tensor<?x?x?xf32>, [1], [1]
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @decay_gradient_c1_vectors(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %x key %x value %x decay %g products %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %v, %r = attend query %x key %x value %x decay %g products %x anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %y = sum %x : [4]
  // expected-error@+1 {{C1: }}
  %dg = decay_gradient %g queries %y keys %r : tensor<?x?x?xf32>, [1], [1]
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @decay_gradient_c1_none(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %x key %x value %x decay %g products %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %v, %r = attend query %x key %x value %x decay %g products %x anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  // expected-error@+1 {{C1: }}
  %dg = "polyattn.decay_gradient"(%g, %p) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}> : (tensor<?x?x?xf32>, !polyattn.feature<[1]>) -> tensor<?x?x?xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @decay_gradient_c2(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x4x4xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %x key %x value %x decay %g products %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %v, %r = attend query %x key %x value %x decay %g products %x anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  // expected-error@+1 {{C2: expected the final state of an attend as gradient}}
  %dg = decay_gradient %g queries %p keys %r states %s gradients %s : tensor<?x?x?xf32>, [1], [1], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @decay_gradient_c3(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %h: tensor<?x?x4x4xf32>)
    -> (d_g: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %x key %x value %x decay %g products %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %v, %r = attend query %x key %x value %x decay %g products %x anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  // expected-error@+1 {{C3: expected a decay}}
  %dg = decay_gradient %h queries %p keys %r : tensor<?x?x4x4xf32>, [1], [1]
  return %dg : tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @decay_gradient_types(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %x key %x value %x decay %g products %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %v, %r = attend query %x key %x value %x decay %g products %x anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  // expected-error@+1 {{%g must be a feature vector, got tensor<?x?x?xf32>}}
  %dg = decay_gradient %g queries %g keys %r : tensor<?x?x?xf32>, tensor<?x?x?xf32>, [1]
  return %dg : tensor<?x?x?xf32>
}

// -----

// expected-error@+1 {{C11: expected the running sum of result "dw" to be an argument of its own, of type 'tensor<4xf32>', got 'tensor<?x4xf32>'}}
polyattn.attention @running_sum_type(%q: tensor<?x?x?x4xf32>, %s: tensor<?x4xf32>) -> (dw: tensor<4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %w = weight_gradient %x plus %s : [4] plus tensor<?x4xf32>
  return %w : 4
}

// -----

// expected-error@+1 {{C11: expected the running sum of result "dw" to be an argument of its own}}
polyattn.attention @running_sum_uses(%q: tensor<?x?x?x4xf32>, %s: tensor<4xf32>)
    -> (dw: tensor<4xf32>, dv: tensor<4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %w = weight_gradient %x plus %s : [4] plus tensor<4xf32>
  %v = weight_gradient %x plus %s : [4] plus tensor<4xf32>
  return %w, %v : 4, 4
}

// -----

// expected-error@+1 {{C11: result "d_g" has a running sum, but its decay positions}}
polyattn.attention @running_sum_positions(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %a key %a value %a decay %g products %a causal normalize <none>
    : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %r, %t = attend query %a key %a value %a decay %g products %a anticausal normalize <none>
    : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %dg = decay_gradient %g queries %p keys %t plus %s : tensor<?x?x?xf32>, [1], [1], tensor<?x?x?xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

// expected-error@+1 {{C7: result "dw" lives in argument "s", but is not the final state of the one attend whose initial state that is, nor what is kept or summed up there}}
polyattn.attention @running_sum_elsewhere(%q: tensor<?x?x?x4xf32>, %s: tensor<4xf32>, %u: tensor<4xf32>)
    -> (dw: tensor<4xf32> in %s, dv: tensor<4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %w = weight_gradient %x plus %u : [4] plus tensor<4xf32>
  %v = weight_gradient %x plus %s : [4] plus tensor<4xf32>
  return %w, %v : 4, 4
}

// -----

polyattn.attention @states_of_all_keys(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x6xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  // expected-error@+1 {{C18: states after blocks need the causal mask, no local vectors, and a normalizer that has a state}}
  %o, %s = attend query %a key %a value %c full normalize <none> {state_every = 2} : [4], [4], [6]
  return %o : [6]
}

// -----

polyattn.attention @states_after_nothing(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x6xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  // expected-error@+1 {{C18: expected `state_every` of 1 to 1024 positions and at most 16777216 features, got 0 and 4}}
  %o, %s = attend query %a key %a value %c causal normalize <none> {state_every = 0} : [4], [4], [6]
  return %o : [6]
}

// -----

polyattn.attention @states_after_too_many(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x6xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  // expected-error@+1 {{C18: expected `state_every` of 1 to 1024 positions and at most 16777216 features, got 1025 and 4}}
  %o, %s = attend query %a key %a value %c causal normalize <none> {state_every = 1025} : [4], [4], [6]
  return %o : [6]
}

// -----

polyattn.attention @states_computed_with(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x6xf32>) -> (o: tensor<?x?x?x12xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  // expected-error@+1 {{C18: states after blocks are for a call's results, but polyattn.scale uses them}}
  %o, %s = attend query %a key %a value %c causal normalize <none> {state_every = 2} : [4], [4], [6]
  %t = scale %s {factor = 2.0} : [12]
  return %t : [12]
}

// -----

polyattn.attention @states_without_length(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x6xf32>, %s: tensor<?x?x?x12xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  // expected-error@+1 {{C18: `block_states` need `state_every`, the positions of a block}}
  %o = attend query %a key %a value %c block_states %s causal normalize <none> {signed_scores} : [4], [4], [6], tensor<?x?x?x12xf32>
  return %o : [6]
}

// -----

polyattn.attention @states_of_other_sizes(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x6xf32>, %s: tensor<?x?x?x14xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  // expected-error@+1 {{C18: expected `block_states` to be an argument tensor<?x?x?x15xf32>, got}}
  %o = attend query %a key %a value %c block_states %s causal normalize <none> {state_every = 2} : [4], [4], [6], tensor<?x?x?x14xf32>
  return %o : [6]
}

// -----

polyattn.attention @states_and_a_denominator(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x6xf32>, %s: tensor<?x?x?x12xf32>) -> (o: tensor<?x?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  // expected-error@+1 {{C18: `block_states` need `normalize <none>`, plain vectors as key and no initial or final state}}
  %o = attend query %a key %a value %c block_states %s causal normalize <sum, eps = 1.0e-6> {state_every = 2, signed_scores} : [4], [4], [6], tensor<?x?x?x12xf32>
  return %o : [6]
}

// -----

polyattn.attention @states_of_gradients(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x?x9xf32>) -> (d_q: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C7: expected `block_states` to be an argument 'tensor<?x?x?x8xf32>', got 'tensor<?x?x?x9xf32>'}}
  %da, %db, %dc = attend_backward query %a leaves (%a) key %a leaves (%a) value %a gradient %a block_states %s causal
      {state_every = 2} : [4], [4], [4], [4], [4], [4], tensor<?x?x?x9xf32>
  return %da : [4]
}

// -----

polyattn.attention @states_of_full_gradients(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x?x8xf32>) -> (d_q: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C7: `block_states` come with `state_every` of 1 to 1024 positions and the causal mask, without local vectors or an initial state}}
  %da, %db, %dc = attend_backward query %a leaves (%a) key %a leaves (%a) value %a gradient %a block_states %s full
      {state_every = 2} : [4], [4], [4], [4], [4], [4], tensor<?x?x?x8xf32>
  return %da : [4]
}

// -----

polyattn.attention @states_of_lengths(%q: tensor<?x?x?x4xf32>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>)
    lengths %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C18: states after blocks are for calls all of whose positions count, without slots or lengths}}
  %o, %s = attend query %a key %a value %a causal normalize <none> {state_every = 2} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @states_in_local_blocks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %p = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 5} : [4], [4], [4], [4], [4]
  // expected-error@+1 {{C18: the local blocks of attends beside this one are multiples of `state_every`, whose blocks they would cut}}
  %o, %s = attend query %a key %a value %a causal normalize <none> {state_every = 2} : [4], [4], [4]
  return %o, %p : [4], [4]
}

// -----

polyattn.attention @add_states_c1_one(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: expected two or more arguments of the attention that are states}}
  %sum = add_states %s : tensor<?x?x4x4xf32> -> tensor<?x?x4x4xf32>
  return %a : [4]
}

// -----

polyattn.attention @add_states_c1_type(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %t: tensor<?x?x4x5xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: expected two or more arguments of the attention that are states, f32 [B, H, D, dv] or [B, H, D], of the type of their sum, got 2 of types 'tensor<?x?x4x4xf32>', 'tensor<?x?x4x5xf32>' for 'tensor<?x?x4x4xf32>'}}
  %sum = add_states %s, %t : tensor<?x?x4x4xf32>, tensor<?x?x4x5xf32> -> tensor<?x?x4x4xf32>
  return %a : [4]
}

// -----

polyattn.attention @add_states_c1_argument(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a causal normalize <none> {final_state} : [4], [4], [4]
  // expected-error@+1 {{C1: expected two or more arguments}}
  %sum = add_states %s, %o#1 : tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32> -> tensor<?x?x4x4xf32>
  return %o#0 : [4]
}

// -----

polyattn.attention @add_states_c2(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %t: tensor<?x?x4x4xf32>)
    -> (f: tensor<?x?x4x4xf32>) {
  // expected-error@+1 {{C2: only attends and gradients take a sum of states, but polyattn.return uses it}}
  %sum = add_states %s, %t : tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32> -> tensor<?x?x4x4xf32>
  return %sum : tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @add_gradients_c1_one(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  // expected-error@+1 {{C1: expected two or more gradients of one decay}}
  %dg = add_gradients %b#3 : tensor<?x?x?xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @add_gradients_c1_decays(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %h: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  %c:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %h causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  // expected-error@+1 {{C1: expected two or more gradients of one decay}}
  %dg = add_gradients %b#3, %c#3 : tensor<?x?x?xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @add_gradients_c1_grouping(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g causal
      {grouping = #polyattn.grouping<block>}
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  %c:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  // expected-error@+1 {{C1: expected two or more gradients of one decay, of attends with equal `gate_heads` and `grouping`}}
  %dg = add_gradients %b#3, %c#3 : tensor<?x?x?xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @add_gradients_c1_tensors(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (d_g: tensor<?x?x?xf32>) {
  // expected-error@+1 {{C1: expected two or more gradients of one decay}}
  %dg = add_gradients %g, %g : tensor<?x?x?xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

polyattn.attention @add_gradients_c1_states(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %t: tensor<?x?x4x4xf32>)
    -> (d_s: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x initial %s causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  %c:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x initial %t causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  // expected-error@+1 {{C1: expected two or more gradients of one decay, of attends with equal `gate_heads` and `grouping`, or of one state, of attends with equal `gate_heads`}}
  %ds = add_gradients %b#3, %c#3 : tensor<?x?x4x4xf32>
  return %ds : tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @add_gradients_c1_heads(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x4x4xf32>)
    -> (d_s: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:5 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g initial %s causal
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>
  %c:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x initial %s causal
      {grouping = #polyattn.grouping<block>}
    : [4], [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  // expected-error@+1 {{C1: expected two or more gradients of one decay}}
  %ds = add_gradients %b#4, %c#3 : tensor<?x?x4x4xf32>
  return %ds : tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @add_gradients_c2(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  %c:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g causal {score_scale = 2.0}
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  // expected-error@+1 {{C2: a sum of gradients can only be returned}}
  %dg = add_gradients %b#3, %c#3 : tensor<?x?x?xf32>
  %o = attend query %x key %x value %x decay %dg causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>
  return %o : [4]
}
