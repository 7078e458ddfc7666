// Scores that are shown not to be negative: none of these attentions says `signed_scores`.
// RUN: polyattn-opt %s | FileCheck %s

// 1 + s + s^2/2 + s^3/6 + s^4/24, the fourth Taylor polynomial of the exponential.
polyattn.feature_map @taylor_4(%x: [4]) {
  %one = constant {value = 1.0, width = 1}
  %x2 = power %x {degree = 2, symmetric} : [4]
  %x3 = power %x {degree = 3, symmetric} : [4]
  %x4 = power %x {degree = 4, symmetric} : [4]
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
