// RUN: polyattn-opt %s --polyattn-localize-tables | FileCheck %s

// Pairs beyond the table have its last number as a factor, and features. Whole blocks of 64 positions
// are near.
// CHECK-LABEL: polyattn.attention @product
// CHECK:         %[[C:.*]] = relative %[[T:.*]] {beyond = last, log} : 100
// CHECK:         %[[X:.*]] = tensor %[[C]], %[[A:.*]] : [1], [4]
// CHECK:         %[[ZERO:.*]] = constant {value = 0.0, width = 100}
// CHECK:         %[[NUMBERS:.*]] = add_vec %[[ZERO]], %[[T]] : [100], 100
// CHECK:         %[[LAST:.*]] = select %[[NUMBERS]] {indices = array<i64: 99>} : [100]
// CHECK:         %[[FACTOR:.*]] = exp %[[LAST]] : [1]
// CHECK:         %[[Q:.*]] = tensor %[[FACTOR]], %[[A]] : [1], [4]
// CHECK:         %[[ONE:.*]] = constant {value = 1.0, width = 1}
// CHECK:         %[[K:.*]] = tensor %[[ONE]], %[[A]] : [1], [4]
// CHECK:         attend query %[[Q]] key %[[K]] value %[[A]] local %[[X]], %[[X]] causal normalize <none> {block = 128, sliding}
polyattn.attention @product(%q: tensor<?x?x?x4xf32>, %t: tensor<?x100xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x100xf32> -> 100
  %r = relative %c {beyond = last, log} : 100
  %x = tensor %r, %a : [1], [4]
  %o = attend query %x key %x value %a causal normalize <none> : [1] x [4], [1] x [4], [4]
  return %o : [4]
}

// The number belongs to the heads of queries, on whichever side they are. A table alone has the score 1
// beside it, and one that is no logarithm may be negative.
// CHECK-LABEL: polyattn.attention @of_keys
// CHECK:         %[[LAST:.*]] = select %{{.*}} {indices = array<i64: 0>} : [1]
// CHECK-NOT:     exp
// CHECK:         attend query %{{.*}} key %[[LAST]] value %{{.*}} local {{.*}} anticausal normalize <none> {block = 16, of_keys, sliding}
polyattn.attention @of_keys(%q: tensor<?x?x?x4xf32>, %t: tensor<?x1xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x1xf32> -> 1
  %r = relative %c {beyond = last} : 1
  %o = attend query %r key %r value %a anticausal normalize <none> {of_keys} : [1], [1], [4]
  return %o : [4]
}

// Not where tables end, both sides are seen, other factors have no features, or calls go on.
// CHECK-LABEL: polyattn.attention @others
// CHECK-NOT:     sliding
// CHECK:         return
polyattn.attention @others(%q: tensor<?x?x?x4xf32>, %t: tensor<?x9xf32>, %u: tensor<9xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, r: tensor<?x?x?x4xf32>, w: tensor<?x?x?x4xf32>, e: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %t : tensor<?x9xf32> -> 9
  %d = read %u : tensor<9xf32> -> 9
  %ends = relative %c {beyond = zero} : 9
  %last = relative %c {beyond = last} : 9
  %other = relative %d {beyond = last} : 9
  %x = tensor %ends, %a : [1], [4]
  %y = tensor %last, %a : [1], [4]
  %z = tensor %last, %other, %a : [1], [1], [4]
  %f = concat %last, %a : [1], [4]
  %o = attend query %x key %x value %a causal normalize <none> : [1] x [4], [1] x [4], [4]
  %p = attend query %y key %y value %a full normalize <none> : [1] x [4], [1] x [4], [4]
  %r = attend query %z key %z value %a causal normalize <none> : [1] x [1] x [4], [1] x [1] x [4], [4]
  %w = attend query %y key %y value %a causal normalize <none> {window = 20} : [1] x [4], [1] x [4], [4]
  %e = attend query %f key %f value %a causal normalize <none> : [1] + [4], [1] + [4], [4]
  return %o, %p, %r, %w, %e : [4], [4], [4], [4], [4]
}
