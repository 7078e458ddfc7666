// RUN: polyattn-opt --polyattn-inline-maps --polyattn-simplify-features --split-input-file %s | FileCheck %s
// RUN: polyattn-opt --canonicalize --split-input-file %s > /dev/null
// Factors whose product is no number that f32 holds stay apart.

// CHECK-LABEL: @square_overflows
// CHECK:         [[Q:%.*]] = scale {{.*}} {factor = 1.0e155}
// CHECK:         [[K:%.*]] = scale {{.*}} {factor = 1.0e155}
// CHECK:         attend query [[Q]] key [[K]] {{.*}} normalize <none> : [4]
polyattn.attention @square_overflows(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = scale %x {factor = 1.0e155} : [4]
  %b = scale %y {factor = 1.0e155} : [4]
  %o = attend query %a key %b value %y causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// Beyond f32 only, and with numbers that vanish.
// CHECK-LABEL: @square_leaves_f32
// CHECK:         scale {{.*}} {factor = 1.0e30}
// CHECK:         scale {{.*}} {factor = 1.0e30}
// CHECK:         attend {{.*}} normalize <none> : [4]
// CHECK:         scale {{.*}} {factor = 1.0e-30}
// CHECK:         scale {{.*}} {factor = 1.0e-30}
// CHECK:         attend {{.*}} normalize <none> : [4]
polyattn.attention @square_leaves_f32(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = scale %x {factor = 1.0e30} : [4]
  %b = scale %y {factor = 1.0e30} : [4]
  %o = attend query %a key %b value %y causal normalize <none> : [4], [4], [4]
  %c = scale %x {factor = 1.0e-30} : [4]
  %d = scale %y {factor = 1.0e-30} : [4]
  %p = attend query %c key %d value %y causal normalize <none> : [4], [4], [4]
  return %o, %p : [4], [4]
}

// -----

// A product that is an ordinary number folds, however large its factors are.
// CHECK-LABEL: @large_and_small
// CHECK-NOT:     scale
// CHECK:         attend {{.*}} {score_scale = 10.0}
polyattn.attention @large_and_small(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = scale %x {factor = 1.0e31} : [4]
  %b = scale %y {factor = 1.0e-30} : [4]
  %o = attend query %a key %b value %y causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK-LABEL: @twice
// CHECK:         [[A:%.*]] = scale {{.*}} {factor = 1.0e80}
// CHECK:         [[R:%.*]] = relu [[A]]
// CHECK:         scale [[R]] {factor = 1.0e80}
polyattn.attention @twice(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = scale %x {factor = 1.0e80} : [4]
  %r = relu %a : [4]
  %b = scale %r {factor = 1.0e80} : [4]
  %o = attend query %b key %y value %y causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK-LABEL: @elu_plus_one
// CHECK:         elu_plus_one
// CHECK:         scale {{.*}} {factor = 1.0e200}
polyattn.attention @elu_plus_one(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = elu_plus_one %x : [4]
  %b = scale %a {factor = 1.0e200} : [4]
  %c = elu_plus_one %y : [4]
  %d = scale %c {factor = 1.0e200} : [4]
  %o = attend query %b key %d value %y causal normalize <sum, eps = 0.0> : [4], [4], [4]
  return %o : [4]
}

// -----

// Powers, of which the factor's power is lost; sums, one term of which is; score_scale.
// CHECK-LABEL: @powers_sums_scales
// CHECK:         scale {{.*}} {factor = 0.25}
// CHECK:         power 64 {{.*}}
// CHECK:         attend {{.*}} : {{.*}} 64 [4]
// CHECK:         concat
// CHECK:         attend {{.*}} : [4] + [4], [4] + [4], [4]
// CHECK:         attend {{.*}} {score_scale = 1.0e30} : [4]
polyattn.attention @powers_sums_scales(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, r: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = scale %x {factor = 0.25} : [4]
  %b = scale %y {factor = 0.25} : [4]
  %a64 = power 64 %a {symmetric} : [4]
  %b64 = power 64 %b {symmetric} : [4]
  %o = attend query %a64 key %b64 value %y causal normalize <none> : sym 64 [4], sym 64 [4], [4]
  %e = scale %x {factor = 1.0e200} : [4]
  %f = scale %y {factor = 1.0e200} : [4]
  %xs = concat %e, %x : [4], [4]
  %ys = concat %f, %y : [4], [4]
  %p = attend query %xs key %ys value %y causal normalize <none> : [4] + [4], [4] + [4], [4]
  %g = scale %x {factor = 1.0e10} : [4]
  %r = attend query %g key %y value %y causal normalize <none> {score_scale = 1.0e30}
    : [4], [4], [4]
  return %o, %p, %r : [4], [4], [4]
}

// -----

// Constants: products of two that are none, squares, their scores.
// CHECK-LABEL: @constants
// CHECK:         hadamard
// CHECK:         attend
// CHECK:         attend
polyattn.attention @constants(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = constant {value = 1.0e200, width = 4}
  %cc = hadamard %x, %c, %c : [4], [4], [4]
  %s = add %x, %c, %c : [4], [4], [4]
  %n = squared_norm %c : [4]
  %t = hadamard %s, %n : [4], [1]
  %o = attend query %cc key %t value %y causal normalize <none> : [4], [4], [4]
  %p = attend query %c key %c value %y causal normalize <none> : [4], [4], [4]
  return %o, %p : [4], [4]
}
