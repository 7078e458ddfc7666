// Scores that are shown not to be negative: none of these attentions says `signed_scores`.
// RUN: polyattn-opt %s | FileCheck %s
// Simplified programs are verified again.
// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-simplify-features

// 1 + s + s^2/2 + s^3/6 + s^4/24, the fourth Taylor polynomial of the exponential.
polyattn.feature_map @taylor_4(%x: [4]) {
  %one = constant {value = 1.0, width = 1}
  %x2 = power 2 %x {symmetric} : [4]
  %x3 = power 3 %x {symmetric} : [4]
  %x4 = power 4 %x {symmetric} : [4]
  %c2 = scale %x2 {factor = 0.70710678118654757} : sym 2 [4]
  %c3 = scale %x3 {factor = 0.40824829046386307} : sym 3 [4]
  %c4 = scale %x4 {factor = 0.20412414523193154} : sym 4 [4]
  %y = concat %one, %x, %c2, %c3, %c4 : [1], [4], sym 2 [4], sym 3 [4], sym 4 [4]
  yield %y : [1] + [4] + sym 2 [4] + sym 3 [4] + sym 4 [4]
}

// (1 + s)^2 as a product: two equal factors.
polyattn.feature_map @square(%x: [4]) {
  %one = constant {value = 1.0, width = 1}
  %y = concat %one, %x : [1], [4]
  %yy = tensor %y, %y : [1] + [4], [1] + [4]
  yield %yy : ([1] + [4]) x ([1] + [4])
}

// What a map is applied to counts: the identity of non-negative features.
polyattn.feature_map @relu(%x: [4]) {
  %y = relu %x : [4]
  yield %y : [4]
}
polyattn.feature_map @identity(%x: [4]) {
  yield %x : [4]
}

// CHECK-LABEL: polyattn.attention @taylor
polyattn.attention @taylor(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = apply @taylor_4(%q) : tensor<?x?x?x4xf32> -> [1] + [4] + sym 2 [4] + sym 3 [4] + sym 4 [4]
  %v = read %q : tensor<?x?x?x4xf32> -> [4]
  // CHECK: attend query
  %o = attend query %a key %a value %v causal normalize <sum, eps = 1.0e-6>
    : [1] + [4] + sym 2 [4] + sym 3 [4] + sym 4 [4], [1] + [4] + sym 2 [4] + sym 3 [4] + sym 4 [4],
      [4]
  return %o : [4]
}

// CHECK-LABEL: polyattn.attention @squared
polyattn.attention @squared(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = apply @square(%q) : tensor<?x?x?x4xf32> -> ([1] + [4]) x ([1] + [4])
  %v = read %q : tensor<?x?x?x4xf32> -> [4]
  // CHECK: attend query
  %o = attend query %a key %a value %v causal normalize <sum, eps = 1.0e-6>
    : ([1] + [4]) x ([1] + [4]), ([1] + [4]) x ([1] + [4]), [4]
  return %o : [4]
}

// CHECK-LABEL: polyattn.attention @applied
polyattn.attention @applied(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %r = apply @relu(%q) : tensor<?x?x?x4xf32> -> [4]
  %a = apply @identity(%r) : [4] -> [4]
  %v = read %q : tensor<?x?x?x4xf32> -> [4]
  // CHECK: attend query
  %o = attend query %a key %a value %v causal normalize <sum, eps = 1.0e-6> : [4], [4], [4]
  return %o : [4]
}

// 1 + s + s^2/2 with s = s1 + s2, the score of a concatenation, which is one variable.
polyattn.feature_map @taylor_of_sum(%x: [4], %y: [2]) {
  %s = concat %x, %y : [4], [2]
  %one = constant {value = 1.0, width = 1}
  %ss = power 2 %s {symmetric} : [4] + [2]
  %half = scale %ss {factor = 0.70710678118654757} : sym 2 ([4] + [2])
  %phi = concat %one, %s, %half : [1], [4] + [2], sym 2 ([4] + [2])
  yield %phi : [1] + ([4] + [2]) + sym 2 ([4] + [2])
}

// The same of a product of two scores, times a square of another one.
polyattn.feature_map @taylor_of_product(%x: [4], %y: [2]) {
  %s = tensor %x, %y : [4], [2]
  %one = constant {value = 1.0, width = 1}
  %ss = power 2 %s {symmetric} : [4] x [2]
  %half = scale %ss {factor = 0.70710678118654757} : sym 2 ([4] x [2])
  %sum = concat %one, %s, %half : [1], [4] x [2], sym 2 ([4] x [2])
  %yy = power 2 %y : [2]
  %phi = tensor %sum, %yy : [1] + [4] x [2] + sym 2 ([4] x [2]), pow 2 [2]
  yield %phi : ([1] + [4] x [2] + sym 2 ([4] x [2])) x pow 2 [2]
}

// CHECK-LABEL: polyattn.attention @sums
polyattn.attention @sums(%q: tensor<?x?x?x4xf32>, %r: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = apply @taylor_of_sum(%q, %r) : tensor<?x?x?x4xf32>, tensor<?x?x?x2xf32>
    -> [1] + ([4] + [2]) + sym 2 ([4] + [2])
  %v = read %q : tensor<?x?x?x4xf32> -> [4]
  // CHECK: attend query
  %o = attend query %a key %a value %v causal normalize <sum, eps = 1.0e-6>
    : [1] + ([4] + [2]) + sym 2 ([4] + [2]), [1] + ([4] + [2]) + sym 2 ([4] + [2]), [4]
  return %o : [4]
}

// CHECK-LABEL: polyattn.attention @products
polyattn.attention @products(%q: tensor<?x?x?x4xf32>, %r: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = apply @taylor_of_product(%q, %r) : tensor<?x?x?x4xf32>, tensor<?x?x?x2xf32>
    -> ([1] + [4] x [2] + sym 2 ([4] x [2])) x pow 2 [2]
  %v = read %q : tensor<?x?x?x4xf32> -> [4]
  // CHECK: attend query
  %o = attend query %a key %a value %v causal normalize <sum, eps = 1.0e-6>
    : ([1] + [4] x [2] + sym 2 ([4] x [2])) x pow 2 [2],
      ([1] + [4] x [2] + sym 2 ([4] x [2])) x pow 2 [2], [4]
  return %o : [4]
}

// No score is negative where all are zero.
// CHECK-LABEL: polyattn.attention @scaled_to_zero
polyattn.attention @scaled_to_zero(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %v = read %q : tensor<?x?x?x4xf32> -> [4]
  // CHECK: attend query
  %o = attend query %v key %v value %v causal normalize <sum, eps = 1.0e-6> {score_scale = 0.0}
    : [4], [4], [4]
  return %o : [4]
}

// Bounds of values: what is added is as large as the smallest of them.
polyattn.feature_map @one_plus_cos(%x: [4]) {
  %c = cos %x : [4]
  %y = add_const %c {value = 1.0} : [4]
  yield %y : [4]
}
// 1 - exp(-x^2), and 1 - tanh(x)^2 as gradients have it.
polyattn.feature_map @one_minus(%x: [4]) {
  %xx = hadamard %x, %x : [4], [4]
  %m = scale %xx {factor = -1.0} : [4]
  %e = exp %m : [4]
  %me = scale %e {factor = -1.0} : [4]
  %y = add_const %me {value = 1.0} : [4]
  %t = tanh %x : [4]
  %tt = hadamard %t, %t : [4], [4]
  %mt = scale %tt {factor = -1.0} : [4]
  %z = add_const %mt {value = 1.0} : [4]
  %both = concat %y, %z : [4], [4]
  yield %both : [4] + [4]
}
// Sums and products of bounded things. 0.1 + 0.2 is a little more than 0.3 in f64.
polyattn.feature_map @sums_of_bounded(%x: [4]) {
  %c = cos %x : [4]
  %s = sin %x : [4]
  %n = l2_norm %x {eps = 1.0e-6} : [4]
  %c1 = scale %c {factor = 0.1} : [4]
  %s1 = scale %s {factor = -0.2} : [4]
  %ss = hadamard %c, %s, %n : [4], [4], [4]
  %sum = add %c1, %s1 : [4], [4]
  %y = add_const %sum {value = 0.3} : [4]
  %one = constant {value = 1.0, width = 4}
  %z = add %ss, %one : [4], [4]
  %g = silu %x : [4]
  %w = add_const %g {value = 0.3} : [4]
  %all = concat %y, %z, %w : [4], [4], [4]
  yield %all : [4] + [4] + [4]
}

// CHECK-LABEL: polyattn.attention @bounded
polyattn.attention @bounded(%q: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, r: tensor<?x?x?x4xf32>) {
  %a = apply @one_plus_cos(%q) : tensor<?x?x?x4xf32> -> [4]
  %b = apply @one_minus(%q) : tensor<?x?x?x4xf32> -> [4] + [4]
  %c = apply @sums_of_bounded(%q) : tensor<?x?x?x4xf32> -> [4] + [4] + [4]
  %v = read %q : tensor<?x?x?x4xf32> -> [4]
  // CHECK-COUNT-3: attend query
  %o = attend query %a key %a value %v causal normalize <sum, eps = 1.0e-6> : [4], [4], [4]
  %p = attend query %b key %b value %v causal normalize <sum, eps = 1.0e-6>
    : [4] + [4], [4] + [4], [4]
  %r = attend query %c key %c value %v causal normalize <sum, eps = 1.0e-6>
    : [4] + [4] + [4], [4] + [4] + [4], [4]
  return %o, %p, %r : [4], [4], [4]
}
