// RUN: polyattn-opt %s --split-input-file --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --cse | FileCheck %s

// What gradients take of a row is there anyway: a kernel that stores it has the sums and the division that it
// has without.
// CHECK-LABEL: tile.kernel @plain
// CHECK-COUNT-1: tile.reduce <add> <columns> {{.*}}{lower}
// CHECK-NOT:     tile.reduce
// CHECK-COUNT-1:   arith.divf
// CHECK-NOT:     arith.divf
// CHECK:         tile.store {{.*}}, %o
// CHECK-NEXT:    tile.store %[[FACTOR:[^,]*]], %f[%{{.*}}, %{{.*}}, %{{.*}}, %c0] valid %{{.*}} {col_dim = -1
// CHECK-NEXT:    tile.store %[[FACTOR]], %f[%{{.*}}, %{{.*}}, %{{.*}}, %c1] valid
polyattn.attention @plain(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>, %v: tensor<?x?x?x5xf32>)
    -> (o: tensor<?x?x?x5xf32>, f: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o, %f = attend query %a key %b value %c causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>, signed_scores, factors} : [6], [6], [5]
  return %o, %f : [5], [2]
}

// -----

// A floor is looked for in the total that the division takes, which is built once.
// CHECK-LABEL: tile.kernel @floors
// CHECK-COUNT-1: tile.reduce <add> <columns> {{.*}}{lower}
// CHECK-NOT:     tile.reduce
// CHECK:           arith.constant 2.5
// CHECK:           arith.addf
// CHECK-NOT:       arith.addf
// CHECK:         %[[FACTOR:.*]] = tile.map %[[TOTAL:[^ ]*]] :
// CHECK-NOT:       arith.addf
// CHECK:           arith.divf
// CHECK:         %[[OF_SCORES:.*]] = tile.map %[[TOTAL]], %[[FACTOR]] :
// CHECK-NOT:       arith.divf
// CHECK-NOT:       arith.addf
// CHECK-NOT:       arith.constant 2.5
// CHECK:         tile.store %[[FACTOR]], %f[
// CHECK:         tile.store %[[OF_SCORES]], %f[
polyattn.attention @floors(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>, %v: tensor<?x?x?x5xf32>)
    -> (o: tensor<?x?x?x5xf32>, f: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o, %f = attend query %a key %b value %c causal normalize <sum, eps = 0.25, min_denom = 3.0>
      {grouping = #polyattn.grouping<block>, signed_scores, factors} : [6], [6], [5]
  return %o, %f : [5], [2]
}

// -----

// Gradients subtract from such a result the values that it is the mean of: nothing on the way to it is rounded.
// CHECK-LABEL: tile.kernel @kept
// CHECK-COUNT-5: tile.{{dot|accumulate}} {{.*}} precision <f32>
// CHECK-NOT:     tile.{{dot|accumulate}}
// CHECK-LABEL: tile.kernel @not_kept
// CHECK-NOT:     precision
polyattn.attention @kept(%q: tensor<?x?x?x6xbf16>, %k: tensor<?x?x?x6xbf16>, %v: tensor<?x?x?x5xbf16>)
    -> (o: tensor<?x?x?x5xf32>, f: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x6xbf16> -> [6]
  %b = read %k : tensor<?x?x?x6xbf16> -> [6]
  %c = read %v : tensor<?x?x?x5xbf16> -> [5]
  %o, %f = attend query %a key %b value %c causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>, signed_scores, factors} : [6], [6], [5]
  return %o, %f : [5], [2]
}

polyattn.attention @not_kept(%q: tensor<?x?x?x6xbf16>, %k: tensor<?x?x?x6xbf16>, %v: tensor<?x?x?x5xbf16>)
    -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x6xbf16> -> [6]
  %b = read %k : tensor<?x?x?x6xbf16> -> [6]
  %c = read %v : tensor<?x?x?x5xbf16> -> [5]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>, signed_scores} : [6], [6], [5]
  return %o : [5]
}
