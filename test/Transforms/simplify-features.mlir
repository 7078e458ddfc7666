// RUN: polyattn-opt --polyattn-simplify-features --split-input-file %s | FileCheck %s

// The example of the pass's documentation.
// CHECK-LABEL: polyattn.attention @documented
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[Y:%.*]] = read %k
// CHECK:         [[XX:%.*]] = power 2 [[X]] {symmetric} : [16]
// CHECK-NEXT:    [[YY:%.*]] = power 2 [[Y]] {symmetric} : [16]
// CHECK-NEXT:    attend query [[XX]] key [[YY]] {{.*}} {score_scale = 0.0625} : sym 2 [16], sym 2 [16], [32]
polyattn.attention @documented(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                               %v: tensor<?x?x?x32xf32>) -> (o: tensor<?x?x?x32xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %values = read %v : tensor<?x?x?x32xf32> -> [32]
  %h = scale %x {factor = 0.5} : [16]
  %hh = tensor %h, %h : [16], [16]
  %g = scale %y {factor = 0.5} : [16]
  %gg = tensor %g, %g : [16], [16]
  %o = attend query %hh key %gg value %values causal normalize <bias, bias = 1.0>
    : [16] x [16], [16] x [16], [32]
  return %o : [32]
}

// -----

// Powers of powers, of products, and beside their own base.
// CHECK-LABEL: polyattn.attention @powers
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[W:%.*]] = read %w
// CHECK:         [[P:%.*]] = project [[X]], [[W]]
// CHECK:         [[X3:%.*]] = power 3 [[X]] {symmetric}
// CHECK-NEXT:    [[P2:%.*]] = power 2 [[P]] {symmetric}
// CHECK-NEXT:    [[PHI:%.*]] = tensor [[X3]], [[P2]] : sym 3 [4], sym 2 [3]
// CHECK-NEXT:    attend query [[PHI]] key [[PHI]]
polyattn.attention @powers(%q: tensor<?x?x?x4xf32>, %w: tensor<4x3xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %theta = read %w : tensor<4x3xf32> -> 4x3
  %p = project %x, %theta : [4], 4x3
  %xp = tensor %x, %p : [4], [3]
  %xpxp = power 2 %xp : [4] x [3]
  %phi = tensor %xpxp, %x : pow 2 ([4] x [3]), [4]
  %o = attend query %phi key %phi value %x causal normalize <none>
    : pow 2 ([4] x [3]) x [4], pow 2 ([4] x [3]) x [4], [4]
  return %o : [4]
}

// -----

// CHECK-LABEL: polyattn.attention @nested_power
// CHECK:         [[PHI:%.*]] = power 6 {{%.*}} {symmetric} : [4]
// CHECK-NEXT:    attend query [[PHI]] key [[PHI]]
polyattn.attention @nested_power(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %xx = power 2 %x {symmetric} : [4]
  %phi = power 3 %xx : sym 2 [4]
  %o = attend query %phi key %phi value %x causal normalize <none>
    : pow 3 sym 2 [4], pow 3 sym 2 [4], [4]
  return %o : [4]
}

// -----

// A block that was asked for stays.
// CHECK-LABEL: polyattn.attention @blocked
// CHECK:         [[PHI:%.*]] = power 2 {{%.*}} {block = 2, symmetric} : [4]
// CHECK-NEXT:    attend query [[PHI]] key [[PHI]]
polyattn.attention @blocked(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %phi = power 2 %x {symmetric, block = 2} : [4]
  %o = attend query %phi key %phi value %x causal normalize <none>
    : sym 2 block 2 [4], sym 2 block 2 [4], [4]
  return %o : [4]
}

// -----

// BASED, 1 + s + s^2/2: the parts keep their factors on the query's side.
// CHECK-LABEL: polyattn.attention @based
// CHECK:         [[V:%.*]] = read %v
// CHECK:         [[ONE:%.*]] = constant {value = 1.0, width = 1}
// CHECK:         [[XX:%.*]] = power 2 [[X:%.*]] {symmetric} : [4]
// CHECK-NEXT:    [[H:%.*]] = scale [[X]] {factor = 0.25} : [4]
// CHECK-NEXT:    [[HH:%.*]] = scale [[XX]] {factor = 0.03125{{[0-9]*}}} : sym 2 [4]
// CHECK-NEXT:    [[Q:%.*]] = concat [[ONE]], [[H]], [[HH]] : [1], [4], sym 2 [4]
// CHECK-NEXT:    [[K:%.*]] = concat [[ONE]], [[X]], [[XX]] : [1], [4], sym 2 [4]
// CHECK-NEXT:    attend query [[Q]] key [[K]]
polyattn.attention @based(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %h = scale %x {factor = 0.5} : [4]
  %one = constant {value = 1.0, width = 1}
  %hh = tensor %h, %h : [4], [4]
  %c = scale %hh {factor = 0.70710678118654757} : [4] x [4]
  %phi = concat %one, %h, %c : [1], [4], [4] x [4]
  %o = attend query %phi key %phi value %values causal normalize <sum, eps = 1.0e-12>
    {signed_scores} : [1] + [4] + [4] x [4], [1] + [4] + [4] x [4], [8]
  return %o : [8]
}

// -----

// Nested concatenations are flattened, constants and equal parts added, zeros dropped; the
// factor that is left is shared.
// CHECK-LABEL: polyattn.attention @concat
// CHECK:         [[X:%.*]] = read %q
// CHECK-NOT:     power
// CHECK:         [[ONE:%.*]] = constant {value = 1.0, width = 1}
// CHECK:         [[PHI:%.*]] = concat [[X]], [[ONE]] : [4], [1]
// CHECK-NEXT:    attend query [[PHI]] key [[PHI]] {{.*}} {score_scale = 2.0}
polyattn.attention @concat(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %xx = power 2 %x {symmetric} : [4]
  %zero = scale %xx {factor = 0.0} : sym 2 [4]
  %ones = constant {value = 1.0, width = 2}
  %inner = concat %x, %zero : [4], sym 2 [4]
  %phi = concat %inner, %ones, %x : [4] + sym 2 [4], [2], [4]
  %o = attend query %phi key %phi value %x causal normalize <none>
    : ([4] + sym 2 [4]) + [2] + [4], ([4] + sym 2 [4]) + [2] + [4], [4]
  return %o : [4]
}

// -----

// Local vectors have another factor: neither goes to the scale.
// CHECK-LABEL: polyattn.attention @local
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[XX:%.*]] = power 2 [[X]] {symmetric}
// CHECK:         [[Q:%.*]] = scale {{%.*}} {factor = 4.0} : [3]
// CHECK:         [[L:%.*]] = scale [[XX]] {factor = 81.0} : sym 2 [4]
// CHECK:         attend query [[Q]] key [[K:%.*]] value [[X]] local [[L]], [[XX]]
// CHECK-NOT:     score_scale
polyattn.attention @local(%q: tensor<?x?x?x4xf32>, %w: tensor<4x3xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %theta = read %w : tensor<4x3xf32> -> 4x3
  %p = project %x, %theta : [4], 4x3
  %pp = hadamard %p, %p : [3], [3]
  %phi = scale %pp {factor = 2.0} : [3]
  %y = scale %x {factor = 3.0} : [4]
  %exact = power 2 %y : [4]
  %o = attend query %phi key %phi value %x local %exact, %exact causal
    normalize <bias, bias = 1.0> {block = 4} : [3], [3], [4], pow 2 [4], pow 2 [4]
  return %o : [4]
}

// -----

// A state lists the features as written, and so they stay; factors still gather.
// CHECK-LABEL: polyattn.attention @state
// CHECK:         [[X:%.*]] = read %q
// CHECK-NEXT:    [[XX:%.*]] = tensor [[X]], [[X]] : [4], [4]
// CHECK-NEXT:    [[PHI:%.*]] = scale [[XX]] {factor = 0.25} : [4] x [4]
// CHECK-NEXT:    attend query [[PHI]] key [[PHI]]
polyattn.attention @state(%q: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x16x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %h = scale %x {factor = 0.5} : [4]
  %phi = tensor %h, %h : [4], [4]
  %o:2 = attend query %phi key %phi value %x causal normalize <none> {final_state}
    : [4] x [4], [4] x [4], [4]
  return %o#0, %o#1 : [4], tensor<?x?x16x4xf32>
}

// -----

// |s|^3 is no product of scores; its factor is.
// CHECK-LABEL: polyattn.attention @absolute
// CHECK:         power 3 {{%.*}} {abs, symmetric} : [4]
// CHECK:         {score_scale = 64.0}
polyattn.attention @absolute(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %h = scale %x {factor = -2.0} : [4]
  %phi = power 3 %h {abs} : [4]
  %o = attend query %phi key %phi value %x causal normalize <none> : pow 3 [4], pow 3 [4], [4]
  return %o : [4]
}

// -----

// Equal projections are computed once, whichever map they came from.
// CHECK-LABEL: polyattn.attention @equal_projections
// CHECK-COUNT-1: project
// CHECK-NOT:     project
polyattn.attention @equal_projections(%q: tensor<?x?x?x4xf32>, %w: tensor<4x3xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %theta = read %w : tensor<4x3xf32> -> 4x3
  %a = project %x, %theta : [4], 4x3
  %again = read %w : tensor<4x3xf32> -> 4x3
  %b = project %x, %again : [4], 4x3
  %phi = hadamard %a, %b : [3], [3]
  %o = attend query %phi key %phi value %x causal normalize <none> : [3], [3], [4]
  return %o : [4]
}

// -----

// A projection of a projection is one; the product of the weights serves both sides.
// CHECK-LABEL: polyattn.attention @project_of_project
// CHECK:         [[W:%.*]] = weight_product
// CHECK-NOT:     weight_product
// CHECK-DAG:     [[A:%.*]] = project {{%.*}}, [[W]] : [4], 4x3
// CHECK-DAG:     [[B:%.*]] = project {{%.*}}, [[W]] : [4], 4x3
// CHECK:         attend query [[A]] key [[B]]
polyattn.attention @project_of_project(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>,
    %w1: tensor<4x4xf32>, %w2: tensor<4x3xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %first = read %w1 : tensor<4x4xf32> -> 4x4
  %second = read %w2 : tensor<4x3xf32> -> 4x3
  %p = project %x, %first : [4], 4x4
  %a = project %p, %second : [4], 4x3
  %r = project %y, %first : [4], 4x4
  %b = project %r, %second : [4], 4x3
  %o = attend query %a key %b value %y causal normalize <none> : [3], [3], [4]
  return %o : [4]
}

// -----

// The projection that two others start from is written twice, and yet is one with two uses.
// CHECK-LABEL: polyattn.attention @project_shared
// CHECK-NOT:     weight_product
// CHECK-COUNT-3: project
// CHECK-NOT:     project
polyattn.attention @project_shared(%q: tensor<?x?x?x4xf32>, %w: tensor<4x3xf32>,
    %w1: tensor<3x5xf32>, %w2: tensor<3x5xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %theta = read %w : tensor<4x3xf32> -> 4x3
  %first = read %w1 : tensor<3x5xf32> -> 3x5
  %second = read %w2 : tensor<3x5xf32> -> 3x5
  %p = project %x, %theta : [4], 4x3
  %a = project %p, %first : [3], 3x5
  %again = project %x, %theta : [4], 4x3
  %b = project %again, %second : [3], 3x5
  %phi = hadamard %a, %b : [5], [5]
  %o = attend query %phi key %phi value %x causal normalize <none> : [5], [5], [4]
  return %o : [4]
}

// -----

// Equal terms are added up, whichever way they are written.
// CHECK-LABEL: polyattn.attention @equal_terms
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[P:%.*]] = project
// CHECK-DAG:     [[XX:%.*]] = power 2 [[X]] {symmetric}
// CHECK-DAG:     [[XP:%.*]] = tensor [[X]], [[P]]
// CHECK:         [[PHI:%.*]] = concat [[XX]], [[XP]] : sym 2 [4], [4] x [3]
// CHECK-NEXT:    attend query [[PHI]] key [[PHI]] {{.*}} {score_scale = 2.0}
polyattn.attention @equal_terms(%q: tensor<?x?x?x4xf32>, %w: tensor<4x3xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %theta = read %w : tensor<4x3xf32> -> 4x3
  %p = project %x, %theta : [4], 4x3
  %a = tensor %x, %x : [4], [4]
  %b = tensor %x, %p : [4], [3]
  %c = power 2 %x {symmetric} : [4]
  %d = tensor %p, %x : [3], [4]
  %phi = concat %a, %b, %c, %d : [4] x [4], [4] x [3], sym 2 [4], [3] x [4]
  %o = attend query %phi key %phi value %x causal normalize <none>
    : [4] x [4] + [4] x [3] + sym 2 [4] + [3] x [4],
      [4] x [4] + [4] x [3] + sym 2 [4] + [3] x [4], [4]
  return %o : [4]
}

// -----

// The factors of a product are sums that are equal up to the order of their terms.
// CHECK-LABEL: polyattn.attention @equal_sums
// CHECK:         [[S:%.*]] = concat {{.*}} : [4], [3]
// CHECK-NEXT:    [[PHI:%.*]] = power 2 [[S]] {symmetric}
// CHECK-NEXT:    attend query [[PHI]] key [[PHI]]
polyattn.attention @equal_sums(%q: tensor<?x?x?x4xf32>, %w: tensor<4x3xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %theta = read %w : tensor<4x3xf32> -> 4x3
  %p = project %x, %theta : [4], 4x3
  %a = concat %x, %p : [4], [3]
  %b = concat %p, %x : [3], [4]
  %phi = tensor %a, %b : [4] + [3], [3] + [4]
  %o = attend query %phi key %phi value %x causal normalize <none>
    : ([4] + [3]) x ([3] + [4]), ([4] + [3]) x ([3] + [4]), [4]
  return %o : [4]
}

// -----

// A zero on one side makes the term zero.
// CHECK-LABEL: polyattn.attention @zero_on_one_side
// CHECK-NOT:     concat
// CHECK:         attend query {{%.*}} key {{%.*}} value {{%.*}} causal normalize <none> : [4], [4], [4]
polyattn.attention @zero_on_one_side(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %zero = constant {value = 0.0, width = 4}
  %a = concat %x, %zero : [4], [4]
  %b = concat %y, %y : [4], [4]
  %o = attend query %a key %b value %y causal normalize <none> : [4] + [4], [4] + [4], [4]
  return %o : [4]
}

// -----

// Element-wise products and sums have no order.
// CHECK-LABEL: polyattn.attention @commutative
// CHECK-COUNT-1: hadamard
// CHECK-NOT:     hadamard
// CHECK-COUNT-1: add
// CHECK-NOT:     add
polyattn.attention @commutative(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = hadamard %x, %y : [4], [4]
  %b = hadamard %y, %x : [4], [4]
  %c = add %x, %y : [4], [4]
  %d = add %y, %x : [4], [4]
  %phi = tensor %a, %b, %c, %d : [4], [4], [4], [4]
  %o = attend query %phi key %phi value %x causal normalize <none>
    : [4] x [4] x [4] x [4], [4] x [4] x [4] x [4], [4]
  return %o : [4]
}

// A schedule that is written by hand says how to compute, not how to store: symmetric powers too.
// CHECK-LABEL: @scheduled
// CHECK: attend {{.*}}block = 48{{.*}} : sym 2 [16], sym 2 [16], [16]
polyattn.attention @scheduled(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = tensor %x, %x : [16], [16]
  %o = attend query %p key %p value %x causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 48, feature_block = 64, quadratic_below = 0>}
    : [16] x [16], [16] x [16], [16]
  return %o : [16]
}

// -----

// A sum that other terms are powers of stays one vector, so that the sign of 1 + s + s^2/2 shows and
// s is formed once; the nested sum that nothing is a power of goes up.
// CHECK-LABEL: polyattn.attention @polynomial_of_sum
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[Y:%.*]] = read %r
// CHECK:         [[S:%.*]] = concat [[X]], [[Y]] : [4], [2]
// CHECK:         [[SS:%.*]] = power 2 [[S]] {symmetric} : [4] + [2]
// CHECK:         attend {{.*}} normalize <sum, eps = 0.0> : [1] + ([4] + [2]) + sym 2 ([4] + [2]),
// CHECK:         attend {{.*}} : [4] + [2] + [1], [4] + [2] + [1], [4]
polyattn.attention @polynomial_of_sum(%q: tensor<?x?x?x4xf32>, %r: tensor<?x?x?x2xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %r : tensor<?x?x?x2xf32> -> [2]
  %s = concat %x, %y : [4], [2]
  %one = constant {value = 1.0, width = 1}
  %ss = tensor %s, %s : [4] + [2], [4] + [2]
  %half = scale %ss {factor = 0.70710678118654757} : ([4] + [2]) x ([4] + [2])
  %phi = concat %one, %s, %half : [1], [4] + [2], ([4] + [2]) x ([4] + [2])
  %o = attend query %phi key %phi value %x causal normalize <sum, eps = 0.0>
    : [1] + ([4] + [2]) + ([4] + [2]) x ([4] + [2]), [1] + ([4] + [2]) + ([4] + [2]) x ([4] + [2]), [4]
  %t = concat %s, %one : [4] + [2], [1]
  %p = attend query %t key %t value %x causal normalize <none>
    : ([4] + [2]) + [1], ([4] + [2]) + [1], [4]
  return %o, %p : [4], [4]
}

// -----

// A nested sum comes first: of a small term and a difference of large ones the difference is formed
// first. Two nested sums, or one behind two terms, stay.
// CHECK-LABEL: polyattn.attention @sums_in_order
// CHECK-SAME:  %q: {{.*}}, %r: {{.*}}, %s
// CHECK:         [[A:%.*]] = read %q
// CHECK:         [[B:%.*]] = read %r
// CHECK:         [[C:%.*]] = read %s
// CHECK:         [[MINUS:%.*]] = scale [[B]] {factor = -1.0}
// CHECK:         [[FIRST:%.*]] = add [[A]], [[MINUS]], [[C]] : [4], [4], [4]
// CHECK:         [[NESTED:%.*]] = add [[B]], [[C]] : [4], [4]
// CHECK:         [[SECOND:%.*]] = add [[A]], [[C]], [[NESTED]] : [4], [4], [4]
// CHECK:         return [[FIRST]], [[SECOND]]
polyattn.attention @sums_in_order(%q: tensor<?x?x?x4xf32>, %r: tensor<?x?x?x4xf32>, %s: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %r : tensor<?x?x?x4xf32> -> [4]
  %c = read %s : tensor<?x?x?x4xf32> -> [4]
  %minus = scale %b {factor = -1.0} : [4]
  %difference = add %a, %minus : [4], [4]
  %first = add %c, %difference : [4], [4]
  %sum = add %a, %c : [4], [4]
  %other = add %b, %c : [4], [4]
  %second = add %sum, %other : [4], [4]
  return %first, %second : [4], [4]
}
