// One test for each numbered constraint of each feature op, and for its operands and attributes.
// RUN: polyattn-opt %s -split-input-file -verify-diagnostics

polyattn.feature_map @project_c1(%x: [4], %w: 5x3) {
  // expected-error@+1 {{C1: expected a weight matrix with 4 rows}}
  %y = project %x, %w : [4], 5x3
  yield %x : [4]
}

// -----

polyattn.feature_map @project_c1_vector(%x: [4], %w: 4) {
  // expected-error@+1 {{C1: expected a weight matrix with 4 rows}}
  %y = project %x, %w : [4], 4
  yield %x : [4]
}

// -----

polyattn.feature_map @project_c2(%x: [4], %w: 4x3, %b: 4) {
  // expected-error@+1 {{C2: expected a weight vector of 3 numbers}}
  %y = project %x, %w, %b : [4], 4x3, 4
  yield %x : [4]
}

// -----

polyattn.feature_map @project_operands(%x: [4], %w: 4x3) {
  // expected-error@+1 {{'polyattn.project' takes 2 or more operands, got 1}}
  %y = project %x : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @project_kinds(%x: [4], %w: 4x3) {
  // expected-error@+1 {{%x of 'polyattn.project' must be a weight, got [4]}}
  %y = project %x, %x : [4], [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @weight_product_c1(%w: 5x3, %b: 3) {
  // expected-error@+1 {{C1: expected a weight matrix, got '!polyattn.weight<3>'}}
  %y = weight_product %w, %b : 5x3, 3
  %x = constant {value = 1.0, width = 1}
  yield %x : [1]
}

// -----

polyattn.feature_map @weight_product_c1_lhs(%w: 5x3, %b: 5) {
  // expected-error@+1 {{C1: expected a weight matrix, got '!polyattn.weight<5>'}}
  %y = weight_product %b, %w : 5, 5x3
  %x = constant {value = 1.0, width = 1}
  yield %x : [1]
}

// -----

polyattn.feature_map @weight_product_c2(%w: 5x3, %v: 4x2) {
  // expected-error@+1 {{C2: expected a weight matrix with 3 rows, got '!polyattn.weight<4x2>'}}
  %y = weight_product %w, %v : 5x3, 4x2
  %x = constant {value = 1.0, width = 1}
  yield %x : [1]
}

// -----

polyattn.feature_map @project_types(%x: [4], %w: 4x3) {
  // expected-error@+1 {{expected a type for each of %x, %w behind the colon, got 1}}
  %y = project %x, %w : [4]
  yield %y : [3]
}

// -----

polyattn.feature_map @weight_product_kinds(%x: [5], %w: 5x3) {
  // expected-error@+1 {{%x of 'polyattn.weight_product' must be a weight, got [5]}}
  %y = weight_product %x, %w : [5], 5x3
  yield %x : [5]
}

// -----

polyattn.feature_map @weight_product_operands(%x: [5], %w: 5x3) {
  // expected-error@+1 {{'polyattn.weight_product' takes 2 operands, got 1}}
  %y = weight_product %w : 5x3
  yield %x : [5]
}

// -----

polyattn.feature_map @hadamard_c1(%x: [4], %z: [3]) {
  // expected-error@+1 {{C1: expected operands of one width, got 3 and 4}}
  %y = hadamard %x, %z : [4], [3]
  yield %x : [4]
}

// -----

polyattn.feature_map @hadamard_c1_empty(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected at least one operand}}
  %y = hadamard
  yield %x : [4]
}

// -----

polyattn.feature_map @hadamard_kinds(%x: [4], %w: 4x3) {
  // expected-error@+1 {{%w of 'polyattn.hadamard' must be a feature vector, got 4x3}}
  %y = hadamard %x, %w : [4], 4x3
  yield %x : [4]
}

// -----

polyattn.feature_map @add_c1(%x: [4], %z: [3]) {
  // expected-error@+1 {{C1: expected operands of one width, got 3 and 4}}
  %y = add %x, %z : [4], [3]
  yield %x : [4]
}

// -----

polyattn.feature_map @add_c1_empty(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected at least one operand}}
  %y = add
  yield %x : [4]
}

// -----

polyattn.feature_map @tensor_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected at least one operand}}
  %y = tensor
  yield %x : [4]
}

// -----

polyattn.feature_map @concat_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected at least one operand}}
  %y = concat
  yield %x : [4]
}

// -----

polyattn.feature_map @power_c1_zero(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a degree between 1 and 64, got 0}}
  %y = power 0 %x : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @power_c1_huge(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a degree between 1 and 64}}
  %y = power 1000000000000 %x : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @power_c1_negative(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a degree between 1 and 64, got -2}}
  %y = power -2 %x : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @power_c2_divides(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C2: the block 3 does not divide the width 4}}
  %y = power 2 %x {symmetric, block = 3} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @power_c2_zero(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C2: the block 0 does not divide the width 4}}
  %y = power 2 %x {symmetric, block = 0} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @power_c2_tensor(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C2: a block is given with `symmetric` only}}
  %y = power 2 %x {block = 2} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @power_degree(%x: [4], %w: 4x3) {
  // expected-error@+1 {{'polyattn.power' op requires attribute 'degree'}}
  %y = power %x {symmetric} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @triu_c1(%x: [4], %z: [3]) {
  // expected-error@+1 {{C1: expected operands of one width, got 4 and 3}}
  %y = triu %x, %z {weights = #polyattn.triu_weights<none>} : [4], [3]
  yield %x : [4]
}

// -----

polyattn.feature_map @scale_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: the factor must be finite}}
  %y = scale %x {factor = 0x7FF0000000000000 : f64} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @scale_factor(%x: [4], %w: 4x3) {
  // expected-error@+1 {{'polyattn.scale' op requires attribute 'factor'}}
  %y = scale %x : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @constant_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a positive width, got 0}}
  %y = constant {value = 1.0, width = 0}
  yield %x : [4]
}

// -----

polyattn.feature_map @constant_c1_negative(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a positive width, got -1}}
  %y = constant {value = 1.0, width = -1}
  yield %x : [4]
}

// -----

polyattn.feature_map @constant_c1_huge(%x: [4], %w: 4x3) {
  // expected-error@+1 {{is too wide to be formed}}
  %y = constant {value = 1.0, width = 9223372036854775807}
  yield %x : [4]
}

// -----

polyattn.feature_map @constant_c2(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C2: the value must be finite}}
  %y = constant {value = 0x7FF8000000000000 : f64, width = 1}
  yield %x : [4]
}

// -----

polyattn.feature_map @select_c1_empty(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected at least one index}}
  %y = select %x {indices = array<i64>} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @select_c1_outside(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: index 4 is outside a vector of 4}}
  %y = select %x {indices = array<i64: 4>} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @select_c1_negative(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: index -1 is outside a vector of 4}}
  %y = select %x {indices = array<i64: -1>} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @relu_too_wide(%x: [4], %z: sym 8 [64]) {
  // expected-error@+1 {{a vector of 10639125640 features is too wide to be formed}}
  %y = relu %z : sym 8 [64]
  yield %x : [4]
}

// -----

polyattn.feature_map @gelu_form(%x: [4], %w: 4x3) {
  // expected-error@+1 {{'polyattn.gelu' op requires attribute 'form'}}
  %y = gelu %x : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @pow_c1_none(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected either an `exponent` or an exponent operand}}
  %y = pow %x : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @pow_c1_both(%x: [4], %w: 4) {
  // expected-error@+1 {{C1: expected either an `exponent` or an exponent operand}}
  %y = pow %x, %w {exponent = 2.0} : [4], 4
  yield %x : [4]
}

// -----

polyattn.feature_map @pow_c2(%x: [4], %w: 3) {
  // expected-error@+1 {{C2: expected a weight vector of 4 numbers}}
  %y = pow %x, %w : [4], 3
  yield %x : [4]
}

// -----

polyattn.feature_map @pow_c2_vector(%x: [4], %z: [3]) {
  // expected-error@+1 {{C2: expected exponents as wide as the input, 4, got 3}}
  %y = pow %x, %z : [4], [3]
  yield %x : [4]
}

// -----

polyattn.feature_map @pow_c3(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C3: the exponent must be finite}}
  %y = pow %x {exponent = 0x7FF0000000000000 : f64} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @add_const_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: the value must be finite}}
  %y = add_const %x {value = 0x7FF0000000000000 : f64} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @clamp_min_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: the value must be finite}}
  %y = clamp_min %x {value = 0x7FF0000000000000 : f64} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @add_vec_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a weight vector of 4 numbers}}
  %y = add_vec %x, %w : [4], 4x3
  yield %x : [4]
}

// -----

polyattn.feature_map @mul_vec_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a weight vector of 4 numbers}}
  %y = mul_vec %x, %w : [4], 4x3
  yield %x : [4]
}

// -----

polyattn.feature_map @div_vec_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a weight vector of 4 numbers}}
  %y = div_vec %x, %w : [4], 4x3
  yield %x : [4]
}

// -----

polyattn.feature_map @layer_norm_c1(%x: [4], %w: 3) {
  // expected-error@+1 {{C1: expected a weight vector of 4 numbers}}
  %y = layer_norm %x, %w {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [4], 3
  yield %x : [4]
}

// -----

polyattn.feature_map @layer_norm_c1_three(%x: [4], %w: 4) {
  // expected-error@+1 {{takes 1 or more operands, got 4}}
  %y = layer_norm %x, %w, %w, %w {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [4], 4, 4, 4
  yield %x : [4]
}

// -----

polyattn.feature_map @layer_norm_c2(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C2: eps must be finite and not negative}}
  %y = layer_norm %x {eps = -1.0e-5, eps_place = #polyattn.eps_place<inside>} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @layer_norm_eps_place(%x: [4], %w: 4x3) {
  // expected-error@+1 {{'polyattn.layer_norm' op requires attribute 'eps_place'}}
  %y = layer_norm %x {eps = 1.0e-5} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @l2_norm_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: eps must be finite and not negative}}
  %y = l2_norm %x {eps = -1.0} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @sum_norm_c1(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: eps must be finite and not negative}}
  %y = sum_norm %x {eps = 0x7FF0000000000000 : f64} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @softmax_c1_zero(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: 0 groups do not divide the width 4}}
  %y = softmax %x {groups = 0} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @softmax_c1_divides(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: 3 groups do not divide the width 4}}
  %y = softmax %x {groups = 3} : [4]
  yield %x : [4]
}

// -----

polyattn.feature_map @relative_c1_matrix(%x: [4], %c: 4x2) {
  // expected-error@+1 {{C1: expected a table of 1 to 65536 numbers, one for each lag, got '!polyattn.weight<4x2>'}}
  %y = relative %c {beyond = last} : 4x2
  yield %y : [1]
}

// -----

polyattn.feature_map @relative_c1_long(%x: [4], %c: 65537) {
  // expected-error@+1 {{C1: expected a table of 1 to 65536 numbers}}
  %y = relative %c {beyond = zero} : 65537
  yield %y : [1]
}

// -----

polyattn.feature_map @relative_c1_even(%x: [4], %c: 4) {
  // expected-error@+1 {{C1: a two-sided table has as many lags before 0 as after it, so that their number is odd; got 4}}
  %y = relative %c {beyond = last, two_sided} : 4
  yield %y : [1]
}

// -----

polyattn.attention @relative_c2(%q: tensor<?x?x?x4xf32>, %u: tensor<4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %u : tensor<4x4xf32> -> 4x4
  %p = weight_product %c, %c : 4x4, 4x4
  // expected-error@+1 {{C1: expected a table of 1 to 65536 numbers, one for each lag}}
  %y = relative %p {beyond = last} : 4x4
  return %a : [4]
}

// -----

polyattn.feature_map @relative_beyond(%x: [4], %c: 4) {
  // expected-error@+1 {{expected beyond of zero, last, error, got 'first'}}
  %y = relative %c {beyond = first} : 4
  yield %y : [1]
}

// -----

polyattn.attention @convolve_c1_columns(%q: tensor<?x?x?x4xf32>, %u: tensor<9x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %h = read %u : tensor<9x3xf32> -> 9x3
  // expected-error@+1 {{C1: expected a filter of 1 to 16777216 lags, as a vector or with 4 columns, got '!polyattn.weight<9x3>'}}
  %y = convolve %a, %h : [4], 9x3
  return %y : [4]
}

// -----

polyattn.attention @convolve_c1_lags(%q: tensor<?x?x?x4xf32>, %u: tensor<16777217xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %h = read %u : tensor<16777217xf32> -> 16777217
  // expected-error@+1 {{C1: expected a filter of 1 to 16777216 lags}}
  %y = convolve %a, %h : [4], 16777217
  return %y : [4]
}

// -----

polyattn.attention @convolve_c2(%q: tensor<?x?x?x4xf32>, %u: tensor<4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %u : tensor<4x4xf32> -> 4x4
  %p = weight_product %c, %c : 4x4, 4x4
  // expected-error@+1 {{C2: expected a filter that is an argument, got the result of polyattn.weight_product}}
  %y = convolve %a, %p : [4], 4x4
  return %y : [4]
}

// -----

polyattn.feature_map @convolve_in_a_map(%x: [4], %h: 9x4) {
  // expected-error@+1 {{expects parent op to be one of 'polyattn.attention, polyattn.kernel'}}
  %y = convolve %x, %h : [4], 9x4
  yield %y : [4]
}

// -----

polyattn.feature_map @rope_c1_odd(%x: [4], %w: 2) {
  // expected-error@+1 {{C1: expected an even `dims` between 2 and 4, got 3}}
  %y = rope %x, %w {layout = #polyattn.rope_layout<half>, dims = 3, offset = 0.0, scale = 1.0} : [4], 2
  yield %x : [4]
}

// -----

polyattn.feature_map @rope_c1_wide(%x: [4], %w: 3) {
  // expected-error@+1 {{C1: expected an even `dims` between 2 and 4, got 6}}
  %y = rope %x, %w {layout = #polyattn.rope_layout<half>, dims = 6, offset = 0.0, scale = 1.0} : [4], 3
  yield %x : [4]
}

// -----

polyattn.feature_map @rope_c2(%x: [4], %w: 3) {
  // expected-error@+1 {{C2: expected a weight vector of 2 numbers}}
  %y = rope %x, %w {layout = #polyattn.rope_layout<half>, dims = 4, offset = 0.0, scale = 1.0} : [4], 3
  yield %x : [4]
}

// -----

polyattn.feature_map @rope_c3(%x: [4], %w: 2) {
  // expected-error@+1 {{C3: the scale must be finite}}
  %y = rope %x, %w {layout = #polyattn.rope_layout<half>, dims = 4, offset = 0.0, scale = 0x7FF0000000000000 : f64} : [4], 2
  yield %x : [4]
}

// -----

!B = !polyattn.feature<[1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1]>
// Thirty parts of thirty parts.
polyattn.feature_map @concat_c2(%x: [4]) {
  %a = constant {value = 1.0, width = 1}
  %b = concat %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a : [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1]
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{C2: the result's structure has too many parts}}
  %c = "polyattn.concat"(%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b) : (!B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B) -> !B
  yield %x : [4]
}

// -----

!B = !polyattn.feature<[1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1]>
// Thirty parts of thirty parts.
polyattn.feature_map @tensor_c2(%x: [4]) {
  %a = constant {value = 1.0, width = 1}
  %b = concat %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a : [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1], [1]
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{C2: the result's structure has too many parts}}
  %c = "polyattn.tensor"(%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b) : (!B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B, !B) -> !B
  yield %x : [4]
}

// -----

// The longest structure that there may be, 818 parts.
!B = !polyattn.feature<[1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1] + [1]>
polyattn.feature_map @power_c3(%x: [4], %z: !B) {
  // expected-error@+1 {{C3: the result's structure has too many parts}}
  %y = power 2 %z : !B
  yield %x : [4]
}

// -----

polyattn.feature_map @project_c1_transposed(%x: [4], %w: 4x3) {
  // expected-error@+1 {{C1: expected a weight matrix with 4 columns}}
  %y = project %x, %w {transposed} : [4], 4x3
  yield %x : [4]
}

// -----

polyattn.feature_map @project_c2_transposed(%x: [4], %w: 3x4, %b: 4) {
  // expected-error@+1 {{C2: expected a weight vector of 3 numbers}}
  %y = project %x, %w, %b {transposed} : [4], 3x4, 4
  yield %x : [4]
}

// -----

polyattn.feature_map @scatter_c1(%x: [2]) {
  // expected-error@+1 {{C1: expected a positive width, got 0}}
  %y = scatter %x {indices = array<i64: 0, 0>, width = 0} : [2]
  yield %x : [2]
}

// -----

polyattn.feature_map @scatter_c2(%x: [2]) {
  // expected-error@+1 {{C2: expected an index for each of the 2 elements, got 3}}
  %y = scatter %x {indices = array<i64: 0, 0, 1>, width = 4} : [2]
  yield %x : [2]
}

// -----

polyattn.feature_map @scatter_c2_outside(%x: [2]) {
  // expected-error@+1 {{C2: index 4 is outside a vector of 4}}
  %y = scatter %x {indices = array<i64: 0, 4>, width = 4} : [2]
  yield %x : [2]
}

// -----

polyattn.feature_map @is_above_c1(%x: [2]) {
  // expected-error@+1 {{C1: the value must be finite}}
  %y = is_above %x {value = 0x7FF0000000000000 : f64} : [2]
  yield %x : [2]
}

// -----

polyattn.feature_map @word_unknown(%x: [2]) {
  // expected-error@+1 {{expected form of tanh, erf, got 'tahn'; did you mean 'tanh'?}}
  %y = gelu %x {form = tahn} : [2]
  yield %y : [2]
}

// -----

polyattn.feature_map @word_of_a_misspelt_name(%x: [2]) {
  // expected-error@+1 {{'polyattn.gelu' op has no attribute 'fomr'; did you mean 'form'?}}
  %y = gelu %x {fomr = tanh} : [2]
  yield %y : [2]
}

// -----

polyattn.feature_map @word_of_another_enum(%x: [2]) {
  // expected-error@+1 {{attribute 'form' failed to satisfy constraint: which gelu}}
  %y = gelu %x {form = #polyattn.eps_place<inside>} : [2]
  yield %y : [2]
}

// -----

polyattn.feature_map @attribute_twice(%x: [2]) {
  // expected-error@+1 {{duplicate key 'form' in dictionary attribute}}
  %y = gelu %x {form = tanh, form = erf} : [2]
  yield %y : [2]
}

// -----

polyattn.feature_map @attribute_without_name(%x: [2]) {
  // expected-error@+1 {{expected valid attribute name}}
  %y = gelu %x {"" = 3} : [2]
  yield %y : [2]
}
