// RUN: polyattn-opt --polyattn-simplify-features --split-input-file %s | FileCheck %s
// What keeps the features, their order and the type, up to rounding, in maps that are not inlined, too.

// CHECK-LABEL: @scale_of_scale
// CHECK-NEXT:    scale %x {factor = 6.0}
polyattn.feature_map @scale_of_scale(%x: [4]) {
  %a = scale %x {factor = 2.0} : [4]
  %b = scale %a {factor = 3.0} : [4]
  yield %b : [4]
}

// -----

// CHECK-LABEL: @neutral_constants
// CHECK-NEXT:    yield %x : [4]
polyattn.feature_map @neutral_constants(%x: [4]) {
  %zero = constant {value = 0.0, width = 4}
  %a = add %x, %zero : [4], [4]
  %one = constant {value = 1.0, width = 1}
  %b = hadamard %a, %one : [4], [1]
  yield %b : [4]
}

// -----

// CHECK-LABEL: @through_linear
// CHECK-NEXT:    [[P:%.*]] = project %x, %w
// CHECK-NEXT:    [[R:%.*]] = rope [[P]], %f
// CHECK-NEXT:    [[M:%.*]] = mul_vec [[R]], %g
// CHECK-NEXT:    [[S:%.*]] = select [[M]]
// CHECK-NEXT:    scale [[S]] {factor = 2.0}
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
// CHECK:         scale {{%.*}} {factor = -1.5}
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
// CHECK:         scale {{%.*}} {factor = 24.0} : pow 3 [4] x sym 2 [4]
polyattn.feature_map @through_powers(%x: [4]) {
  %a = scale %x {factor = 2.0} : [4]
  %b = power 3 %a : [4]
  %c = scale %x {factor = -1.0} : [4]
  %d = power 2 %c {symmetric} : [4]
  %e = scale %d {factor = 3.0} : sym 2 [4]
  %f = tensor %b, %e : pow 3 [4], sym 2 [4]
  yield %f : pow 3 [4] x sym 2 [4]
}

// -----

// CHECK-LABEL: @through_elements
// CHECK:         [[R:%.*]] = relu %x
// CHECK:         [[A:%.*]] = abs %x
// CHECK:         [[P:%.*]] = pow %x {exponent = 2.0}
// CHECK:         scale [[P]] {factor = 4.0}
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
// CHECK-NEXT:    scale [[C]] {factor = 2.0}
polyattn.feature_map @shared_by_parts(%x: [4], %y: [3]) {
  %a = scale %x {factor = 2.0} : [4]
  %b = scale %y {factor = 2.0} : [3]
  %c = concat %a, %b : [4], [3]
  yield %c : [4] + [3]
}

// -----

// CHECK-LABEL: @sums
// CHECK-NEXT:    [[A:%.*]] = add %x, %y, %x
// CHECK-NEXT:    add_const [[A]] {value = 3.0}
polyattn.feature_map @sums(%x: [4], %y: [4]) {
  %one = constant {value = 1.0, width = 1}
  %two = constant {value = 2.0, width = 4}
  %a = add %x, %y : [4], [4]
  %b = add %a, %two, %x, %one : [4], [4], [4], [1]
  yield %b : [4]
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
// CHECK-NEXT:    scale [[P]] {factor = 2.0}
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
