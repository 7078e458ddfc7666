// RUN: polyattn-opt %s --polyattn-find-windows | FileCheck %s

// A product is zero where a table ends, a sum where all of its terms are.
// CHECK-LABEL: polyattn.attention @product
// CHECK:         attend {{.*}} normalize <none> {window = 8}
polyattn.attention @product(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>, %u: tensor<?x12xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %d = read %u : tensor<?x12xf32> -> 12
  %r = relative %c {beyond = zero} : 8
  %s = relative %d {beyond = zero} : 12
  %x = tensor %r, %s, %a : [1], [1], [4]
  %y = scale %x {factor = 0.5} : [1] x [1] x [4]
  %o = attend query %y key %y value %a causal normalize <none> : [1] x [1] x [4], [1] x [1] x [4], [4]
  return %o : [4]
}

// CHECK-LABEL: polyattn.attention @sum
// CHECK:         attend {{.*}} normalize <none> {window = 12}
// CHECK:         attend {{.*}} normalize <none> :
polyattn.attention @sum(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>, %u: tensor<?x12xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %d = read %u : tensor<?x12xf32> -> 12
  %r = relative %c {beyond = zero} : 8
  %s = relative %d {beyond = zero} : 12
  %x = concat %r, %s : [1], [1]
  %xx = power 2 %x {symmetric} : [1] + [1]
  %o = attend query %xx key %xx value %a causal normalize <none> : sym 2 ([1] + [1]), sym 2 ([1] + [1]), [4]
  %y = concat %r, %a : [1], [4]
  %p = attend query %y key %y value %a causal normalize <none> : [1] + [4], [1] + [4], [4]
  return %o, %p : [4], [4]
}

// Both sides of a table, a shorter window that is there, and a table that has no end.
// CHECK-LABEL: polyattn.attention @sides
// CHECK:         attend {{.*}} full normalize <none> {window = 5}
// CHECK:         attend {{.*}} full normalize <none> {window = 3}
// CHECK:         attend {{.*}} full normalize <none> :
polyattn.attention @sides(%q: tensor<?x?x?x4xf32>, %t: tensor<?x9xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, r: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x9xf32> -> 9
  %r = relative %c {beyond = zero, two_sided} : 9
  %s = relative %c {beyond = last, two_sided} : 9
  %o = attend query %r key %r value %a full normalize <none> : [1], [1], [4]
  %p = attend query %r key %r value %a full normalize <none> {window = 3} : [1], [1], [4]
  %l = attend query %s key %s value %a full normalize <none> : [1], [1], [4]
  return %o, %p, %l : [4], [4], [4]
}

// Pairs with the score 0 count in a mean, and in a softmax.
// CHECK-LABEL: polyattn.attention @counted
// CHECK:         attend {{.*}} normalize <none, reduce = mean> :
// CHECK:         attend {{.*}} normalize <softmax> :
// CHECK:         attend {{.*}} normalize <sum, eps = 1.0, eps_mode = row_max> {signed_scores} :
polyattn.attention @counted(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, r: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %r = relative %c {beyond = zero} : 8
  %o = attend query %r key %r value %a causal normalize <none, reduce = mean> : [1], [1], [4]
  %p = attend query %r key %r value %a causal normalize <softmax> : [1], [1], [4]
  %m = attend query %r key %r value %a causal normalize <sum, eps = 1.0, eps_mode = row_max> {signed_scores} : [1], [1], [4]
  return %o, %p, %m : [4], [4], [4]
}

// A table of all distances that calls have does not end.
// CHECK-LABEL: polyattn.attention @covered
// CHECK:         attend {{.*}} normalize <none> :
// CHECK:         attend {{.*}} normalize <none> {window = 6} :
polyattn.attention @covered(%q: tensor<?x?x?x4xf32>, %t: tensor<?x8xf32>, %u: tensor<?x6xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x8xf32> -> 8
  %d = read %u : tensor<?x6xf32> -> 6
  %r = relative %c {beyond = error} : 8
  %s = relative %d {beyond = zero} : 6
  %rs = tensor %r, %s : [1], [1]
  %o = attend query %r key %r value %a causal normalize <none> : [1], [1], [4]
  %p = attend query %rs key %rs value %a causal normalize <none> : [1] x [1], [1] x [1], [4]
  return %o, %p : [4], [4]
}
