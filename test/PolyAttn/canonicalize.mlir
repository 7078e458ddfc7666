// RUN: polyattn-opt --canonicalize --split-input-file %s | FileCheck %s
// What keeps the features, their order and the type.

// CHECK-LABEL: @identities
// CHECK-NEXT:    yield %x : [4]
polyattn.feature_map @identities(%x: [4]) {
  %a = scale %x {factor = 1.0} : [4]
  %b = concat %a : [4]
  %c = tensor %b : [4]
  %d = add_const %c {value = 0.0} : [4]
  %e = pow %d {exponent = 1.0} : [4]
  %f = select %e {indices = array<i64: 0, 1, 2, 3>} : [4]
  yield %f : [4]
}

// -----

// A structure is not lost: an identity that would change the type stays.
// CHECK-LABEL: @structure
// CHECK:         hadamard {{%.*}} : sym 2 [4]
polyattn.feature_map @structure(%x: [4]) {
  %a = power 2 %x {symmetric} : [4]
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

// Rounded, 1 + cos(x) may be a little below zero, and its square root NaN: relu stays.
// CHECK-LABEL: @known_sign_but_for_rounding
// CHECK:         relu
// CHECK-NEXT:    pow
polyattn.feature_map @known_sign_but_for_rounding(%x: [4]) {
  %c = cos %x : [4]
  %a = add_const %c {value = 1.0} : [4]
  %b = relu %a : [4]
  %d = pow %b {exponent = 0.5} : [4]
  yield %d : [4]
}

// -----

// CHECK-LABEL: @constants
// CHECK-NEXT:    constant {value = 5.0, width = 2}
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
// CHECK-NEXT:    constant {value = -5.0, width = 4}
// CHECK-NEXT:    yield
polyattn.feature_map @constant_operands() {
  %two = constant {value = 2.0, width = 4}
  %three = constant {value = -3.0, width = 1}
  %a = hadamard %two, %three : [4], [1]
  %b = add %a, %two, %three, %two : [4], [4], [1], [4]
  yield %b : [4]
}

// -----

// CHECK-LABEL: @constant_exponents
// CHECK-NEXT:    constant {value = -8.0, width = 4}
// CHECK-NEXT:    yield
polyattn.feature_map @constant_exponents() {
  %two = constant {value = -2.0, width = 4}
  %three = constant {value = 3.0, width = 4}
  %a = pow %two, %three : [4], [4]
  yield %a : [4]
}

// -----

// What depends on weights is no constant.
// CHECK-LABEL: @constants_and_weights
// CHECK:         pow
// CHECK-NEXT:    mul_vec
// CHECK-NEXT:    add_vec
// CHECK-NEXT:    yield
polyattn.feature_map @constants_and_weights(%w: 4) {
  %two = constant {value = 2.0, width = 4}
  %a = pow %two, %w : [4], 4
  %b = mul_vec %a, %w : [4], 4
  %c = add_vec %b, %w : [4], 4
  yield %c : [4]
}

// -----

// log(1 + exp 2), gelu of that by its two formulas, 2 / 8, 4 / (16 + 9), 1 / 2.
// CHECK-LABEL: @constant_functions
// CHECK-DAG:     constant {value = 2.126928{{[0-9]*}}, width = 4}
// CHECK-DAG:     constant {value = 2.09158{{[0-9]*}}, width = 4}
// CHECK-DAG:     constant {value = 2.09138{{[0-9]*}}, width = 4}
// CHECK-DAG:     constant {value = 0.25, width = 4}
// CHECK-DAG:     constant {value = 0.16, width = 4}
// CHECK-DAG:     constant {value = 0.5, width = 4}
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
// CHECK-NEXT:    constant {value = 0.0, width = 3}
// CHECK-NEXT:    [[P:%.*]] = project {{%.*}}, %u, %b
// CHECK-NEXT:    yield [[P]]
polyattn.feature_map @project_of_zero(%w: 4x3, %b: 4, %u: 3x4) {
  %zero = constant {value = 0.0, width = 4}
  %p = project %zero, %w : [4], 4x3
  %y = project %p, %u, %b : [3], 3x4, 4
  yield %y : [4]
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

// The mean of a constant vector is its element; with an eps of zero there is no number.
// CHECK-LABEL: @layer_norm_of_constant
// CHECK-NEXT:    constant {value = 3.0, width = 4}
// CHECK-NEXT:    constant {value = 0.0, width = 4}
// CHECK-NEXT:    layer_norm {{.*}}eps = 0.0
// CHECK-NEXT:    add %x, {{.*}} : [4], [4], [4]
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

// -----

// What moves factors, reassociates or weighs costs is no canonicalization.
// CHECK-LABEL: @left_alone
// CHECK-NEXT:    scale %x {factor = 2.0}
// CHECK-NEXT:    project
// CHECK-NEXT:    project
// CHECK-NEXT:    add
// CHECK-NEXT:    add
polyattn.feature_map @left_alone(%x: [4], %w1: 4x4, %w2: 4x4) {
  %a = scale %x {factor = 2.0} : [4]
  %b = project %a, %w1 : [4], 4x4
  %c = project %b, %w2 : [4], 4x4
  %d = add %c, %x : [4], [4]
  %e = add %x, %d : [4], [4]
  yield %e : [4]
}

// -----

// CHECK-LABEL: @constants_of_gradients
// CHECK-NEXT:    [[Y:%.*]] = constant {value = 6.0, width = 1}
// CHECK-NEXT:    yield [[Y]]
polyattn.feature_map @constants_of_gradients() {
  %a = constant {value = -2.0, width = 4}
  %b = sign %a : [4]
  %c = is_above %b {value = -1.5} : [4]
  %d = log %c : [4]
  %e = exp %d : [4]
  %f = sum %e : [4]
  %g = gelu_slope %d {form = #polyattn.gelu_form<erf>} : [4]
  %h = gelu_slope %d {form = #polyattn.gelu_form<tanh>} : [4]
  %i = add %g, %h : [4], [4]
  %j = sum %i : [4]
  %k = scale %j {factor = 0.5} : [1]
  %y = add %f, %k : [1], [1]
  yield %y : [1]
}

// -----

// Where an element goes depends on the index: no constant.
// CHECK-LABEL: @scattered_constant
// CHECK:         scatter
// CHECK:         first_max
polyattn.feature_map @scattered_constant() {
  %a = constant {value = -2.0, width = 2}
  %b = scatter %a {indices = array<i64: 0, 0>, width = 3} : [2]
  %c = first_max %a : [2]
  %d = concat %b, %c : [3], [2]
  yield %d : [3] + [2]
}
