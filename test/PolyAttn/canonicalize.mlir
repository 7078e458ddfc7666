// RUN: polyattn-opt --canonicalize --split-input-file %s | FileCheck %s
// What keeps the features, their order and the type.

// CHECK-LABEL: @scale_of_scale
// CHECK-NEXT:    scale %x {factor = 6.000000e+00 : f64}
polyattn.feature_map @scale_of_scale(%x: [4]) {
  %a = scale %x {factor = 2.0} : [4]
  %b = scale %a {factor = 3.0} : [4]
  yield %b : [4]
}

// -----

// CHECK-LABEL: @identities
// CHECK-NEXT:    yield %x : [4]
polyattn.feature_map @identities(%x: [4]) {
  %a = scale %x {factor = 1.0} : [4]
  %b = concat %a : [4]
  %c = tensor %b : [4]
  %d = add_const %c {value = 0.0} : [4]
  %e = pow %d {exponent = 1.0} : [4]
  %f = select %e {indices = array<i64: 0, 1, 2, 3>} : [4]
  %zero = constant {value = 0.0, width = 4}
  %g = add %f, %zero : [4], [4]
  %one = constant {value = 1.0, width = 1}
  %h = hadamard %g, %one : [4], [1]
  yield %h : [4]
}

// -----

// A structure is not lost: an identity that would change the type stays.
// CHECK-LABEL: @structure
// CHECK:         hadamard {{%.*}} : sym 2 [4]
polyattn.feature_map @structure(%x: [4]) {
  %a = power %x {degree = 2, symmetric} : [4]
  %b = hadamard %a : sym 2 [4]
  yield %b : [10]
}

// -----

// CHECK-LABEL: @known_sign
// CHECK-NEXT:    [[E:%.*]] = exp %x
// CHECK-NEXT:    yield [[E]]
polyattn.feature_map @known_sign(%x: [4]) {
  %a = exp %x : [4]
  %b = relu %a : [4]
  %c = abs %b : [4]
  %d = clamp_min %c {value = -1.0} : [4]
  yield %d : [4]
}

// -----

// CHECK-LABEL: @through_linear
// CHECK-NEXT:    [[P:%.*]] = project %x, %w
// CHECK-NEXT:    [[R:%.*]] = rope [[P]], %f
// CHECK-NEXT:    [[M:%.*]] = mul_vec [[R]], %g
// CHECK-NEXT:    [[S:%.*]] = select [[M]]
// CHECK-NEXT:    scale [[S]] {factor = 2.000000e+00 : f64}
polyattn.feature_map @through_linear(%x: [4], %w: 4x6, %f: 3, %g: 6) {
  %a = scale %x {factor = 2.0} : [4]
  %p = project %a, %w : [4], 4x6
  %r = rope %p, %f {layout = #polyattn.rope_layout<half>, dims = 6, offset = 0.0, scale = 1.0} : [6], 3
  %m = mul_vec %r, %g : [6], 6
  %s = select %m {indices = array<i64: 0, 2>} : [6]
  yield %s : [2]
}

// -----

// CHECK-LABEL: @not_through_bias
// CHECK-NEXT:    scale
// CHECK-NEXT:    project
polyattn.feature_map @not_through_bias(%x: [4], %w: 4x6, %b: 6) {
  %a = scale %x {factor = 2.0} : [4]
  %p = project %a, %w, %b : [4], 4x6, 6
  yield %p : [6]
}

// -----

// CHECK-LABEL: @through_products
// CHECK:         hadamard %x, %x, %y
// CHECK:         scale {{%.*}} {factor = -1.500000e+00 : f64}
polyattn.feature_map @through_products(%x: [4], %y: [4]) {
  %a = scale %x {factor = 3.0} : [4]
  %b = scale %y {factor = -0.5} : [4]
  %c = hadamard %x, %b : [4], [4]
  %d = hadamard %a, %c : [4], [4]
  yield %d : [4]
}

// -----

// 2^3 * (-1)^2 from the powers, 3 from the tensor product.
// CHECK-LABEL: @through_powers
// CHECK:         scale {{%.*}} {factor = 2.400000e+01 : f64} : pow 3 [4] x sym 2 [4]
polyattn.feature_map @through_powers(%x: [4]) {
  %a = scale %x {factor = 2.0} : [4]
  %b = power %a {degree = 3} : [4]
  %c = scale %x {factor = -1.0} : [4]
  %d = power %c {degree = 2, symmetric} : [4]
  %e = scale %d {factor = 3.0} : sym 2 [4]
  %f = tensor %b, %e : pow 3 [4], sym 2 [4]
  yield %f : pow 3 [4] x sym 2 [4]
}

// -----

// CHECK-LABEL: @through_elements
// CHECK:         [[R:%.*]] = relu %x
// CHECK:         [[A:%.*]] = abs %x
// CHECK:         [[P:%.*]] = pow %x {exponent = 2.000000e+00 : f64}
// CHECK:         scale [[P]] {factor = 4.000000e+00 : f64}
polyattn.feature_map @through_elements(%x: [4]) {
  %p = scale %x {factor = 2.0} : [4]
  %n = scale %x {factor = -2.0} : [4]
  %r = relu %p : [4]
  %a = abs %n : [4]
  %s = pow %n {exponent = 2.0} : [4]
  %e = exp %r : [4]
  %f = exp %a : [4]
  %y = concat %e, %f, %s : [4], [4], [4]
  yield %y : [4] + [4] + [4]
}

// -----

// CHECK-LABEL: @shared_by_parts
// CHECK-NEXT:    [[C:%.*]] = concat %x, %y
// CHECK-NEXT:    scale [[C]] {factor = 2.000000e+00 : f64}
polyattn.feature_map @shared_by_parts(%x: [4], %y: [3]) {
  %a = scale %x {factor = 2.0} : [4]
  %b = scale %y {factor = 2.0} : [3]
  %c = concat %a, %b : [4], [3]
  yield %c : [4] + [3]
}

// -----

// CHECK-LABEL: @constants
// CHECK-NEXT:    constant {value = 5.000000e+00 : f64, width = 2 : i64}
// CHECK-NEXT:    yield
polyattn.feature_map @constants() {
  %a = constant {value = -2.0, width = 4}
  %b = pow %a {exponent = 2.0} : [4]
  %c = add_const %b {value = 1.0} : [4]
  %d = select %c {indices = array<i64: 0, 3>} : [4]
  yield %d : [2]
}

// -----

// CHECK-LABEL: @constant_operands
// CHECK-NEXT:    constant {value = -5.000000e+00 : f64, width = 4 : i64}
// CHECK-NEXT:    yield
polyattn.feature_map @constant_operands() {
  %two = constant {value = 2.0, width = 4}
  %three = constant {value = -3.0, width = 1}
  %a = hadamard %two, %three : [4], [1]
  %b = add %a, %two, %three, %two : [4], [4], [1], [4]
  yield %b : [4]
}

// -----

// log(1 + exp 2), gelu of that by its two formulas, 2 / 8, 4 / (16 + 9), 1 / 2.
// CHECK-LABEL: @constant_functions
// CHECK-DAG:     constant {value = 2.126928{{[0-9]*}} : f64, width = 4 : i64}
// CHECK-DAG:     constant {value = 2.09158{{[0-9]*}} : f64, width = 4 : i64}
// CHECK-DAG:     constant {value = 2.09138{{[0-9]*}} : f64, width = 4 : i64}
// CHECK-DAG:     constant {value = 2.500000e-01 : f64, width = 4 : i64}
// CHECK-DAG:     constant {value = 1.600000e-01 : f64, width = 4 : i64}
// CHECK-DAG:     constant {value = 5.000000e-01 : f64, width = 4 : i64}
polyattn.feature_map @constant_functions() {
  %two = constant {value = 2.0, width = 4}
  %four = constant {value = 4.0, width = 4}
  %a = softplus %two : [4]
  %b = gelu %a {form = #polyattn.gelu_form<tanh>} : [4]
  %c = gelu %a {form = #polyattn.gelu_form<erf>} : [4]
  %d = l2_norm %two {eps = 8.0} : [4]
  %e = sum_norm %four {eps = 9.0} : [4]
  %f = softmax %two {groups = 2} : [4]
  %y = concat %a, %b, %c, %d, %e, %f : [4], [4], [4], [4], [4], [4]
  yield %y : [4] + [4] + [4] + [4] + [4] + [4]
}

// -----

// CHECK-LABEL: @project_of_zero
// CHECK-NEXT:    constant {value = 0.000000e+00 : f64, width = 3 : i64}
// CHECK-NEXT:    [[P:%.*]] = project {{%.*}}, %u, %b
// CHECK-NEXT:    yield [[P]]
polyattn.feature_map @project_of_zero(%w: 4x3, %b: 4, %u: 3x4) {
  %zero = constant {value = 0.0, width = 4}
  %p = project %zero, %w : [4], 4x3
  %y = project %p, %u, %b : [3], 3x4, 4
  yield %y : [4]
}

// -----

// CHECK-LABEL: @sums
// CHECK-NEXT:    [[A:%.*]] = add %x, %y, %x
// CHECK-NEXT:    add_const [[A]] {value = 3.000000e+00 : f64}
polyattn.feature_map @sums(%x: [4], %y: [4]) {
  %one = constant {value = 1.0, width = 1}
  %two = constant {value = 2.0, width = 4}
  %a = add %x, %y : [4], [4]
  %b = add %a, %two, %x, %one : [4], [4], [4], [1]
  yield %b : [4]
}

// -----

// CHECK-LABEL: @select_of_select
// CHECK-NEXT:    select %x {indices = array<i64: 3, 1>}
polyattn.feature_map @select_of_select(%x: [4]) {
  %a = select %x {indices = array<i64: 1, 2, 3>} : [4]
  %b = select %a {indices = array<i64: 2, 0>} : [3]
  yield %b : [2]
}

// -----

// CHECK-LABEL: @project_of_project
// CHECK-NEXT:    [[W:%.*]] = weight_product %w1, %w2 : 6x4, 4x12
// CHECK-NEXT:    [[P:%.*]] = project %x, [[W]], %b : [6], 6x12, 12
// CHECK-NEXT:    yield [[P]]
polyattn.feature_map @project_of_project(%x: [6], %w1: 6x4, %w2: 4x12, %b: 12) {
  %p = project %x, %w1 : [6], 6x4
  %y = project %p, %w2, %b : [4], 4x12, 12
  yield %y : [12]
}

// -----

// A factor in between is no obstacle. 4 * 9 + 9 * 3 against 4 * 3.
// CHECK-LABEL: @scaled_between
// CHECK-NEXT:    [[W:%.*]] = weight_product %w1, %w2 : 4x9, 9x3
// CHECK-NEXT:    [[P:%.*]] = project %x, [[W]] : [4], 4x3
// CHECK-NEXT:    scale [[P]] {factor = 2.000000e+00 : f64}
polyattn.feature_map @scaled_between(%x: [4], %w1: 4x9, %w2: 9x3) {
  %p = project %x, %w1 : [4], 4x9
  %s = scale %p {factor = 2.0} : [9]
  %y = project %s, %w2 : [9], 9x3
  yield %y : [3]
}

// -----

// A chain of three.
// CHECK-LABEL: @chain
// CHECK:         [[V:%.*]] = weight_product
// CHECK:         [[W:%.*]] = weight_product
// CHECK-NEXT:    [[P:%.*]] = project %x, [[W]] : [4], 4x4
// CHECK-NEXT:    yield [[P]]
polyattn.feature_map @chain(%x: [4], %w: 4x4) {
  %p = project %x, %w : [4], 4x4
  %r = project %p, %w : [4], 4x4
  %y = project %r, %w : [4], 4x4
  yield %y : [4]
}

// -----

// One number less in the middle and two projections are cheaper: 6 * 3 + 3 * 12 < 6 * 12.
// CHECK-LABEL: @narrow_middle
// CHECK-NEXT:    project
// CHECK-NEXT:    project
polyattn.feature_map @narrow_middle(%x: [6], %w1: 6x3, %w2: 3x12) {
  %p = project %x, %w1 : [6], 6x3
  %y = project %p, %w2 : [3], 3x12
  yield %y : [12]
}

// -----

// CHECK-LABEL: @inner_bias
// CHECK-NEXT:    project
// CHECK-NEXT:    project
polyattn.feature_map @inner_bias(%x: [4], %w1: 4x8, %b: 8, %w2: 8x4) {
  %p = project %x, %w1, %b : [4], 4x8, 8
  %y = project %p, %w2 : [8], 8x4
  yield %y : [4]
}

// -----

// The inner result is computed anyway.
// CHECK-LABEL: @inner_used_twice
// CHECK-NOT:     weight_product
// CHECK:         concat
polyattn.feature_map @inner_used_twice(%x: [4], %w1: 4x8, %w2: 8x4) {
  %p = project %x, %w1 : [4], 4x8
  %r = project %p, %w2 : [8], 8x4
  %y = concat %p, %r : [8], [4]
  yield %y : [8] + [4]
}

// -----

// The mean of a constant vector is its element; with an eps of zero there is no number.
// CHECK-LABEL: @layer_norm_of_constant
// CHECK-NEXT:    constant {value = 3.000000e+00 : f64, width = 4 : i64}
// CHECK-NEXT:    layer_norm {{.*}}eps = 0.000000e+00
// CHECK-NEXT:    add %x, {{.*}} : [4], [4]
// CHECK-NEXT:    yield
polyattn.feature_map @layer_norm_of_constant(%x: [4]) {
  %c = constant {value = 3.0, width = 4}
  %n = layer_norm %c {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [4]
  %none = layer_norm %c {eps = 0.0, eps_place = #polyattn.eps_place<outside>} : [4]
  %y = add %x, %n, %none : [4], [4], [4]
  yield %y : [4]
}

// -----

// An attend that is not returned goes; its decay remains an argument that nobody uses.
// CHECK-LABEL: @unreturned_attend_with_decay
// CHECK:         = attend
// CHECK-NOT:     = attend
// CHECK:         return
polyattn.attention @unreturned_attend_with_decay(
    %q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o1 = attend query %a key %a value %a decay %g causal normalize <none>
    : [4], [4], [4], tensor<?x?x?xf32>
  %o2 = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o2 : [4]
}
