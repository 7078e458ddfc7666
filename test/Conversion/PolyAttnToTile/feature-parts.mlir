// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// If features are the elements of several vectors, and perhaps a constant, they are these tiles one upon the other. No table of
// monomials copies them. A weight that all elements of one vector share scales this vector, here by -1 for the queries and by
// the constant of the keys, which have the feature 1.

// CHECK-LABEL: tile.kernel @rows
// CHECK-NOT: monomials
// CHECK: %[[X:.*]] = tile.load %q[
// CHECK: %[[Z:.*]] = tile.load %g[
// CHECK: %[[LESS:.*]] = tile.map %[[Z]]
// CHECK: arith.mulf %{{.*}}, %cst
// CHECK: %[[QUERIES:.*]] = tile.concat %[[X]], %[[LESS]]
// CHECK: %[[Y:.*]] = tile.load %k[
// CHECK: %[[ONE:.*]] = tile.constant 1.0{{.*}} : <1x8xf32>
// CHECK: %[[KEYS:.*]] = tile.concat %[[Y]], %[[ONE]]
// CHECK: tile.dot %[[QUERIES]],
// CHECK: tile.accumulate %[[KEYS]],
polyattn.attention @rows(%q: tensor<?x?x?x2xf32>, %g: tensor<?x?x?x1xf32>, %k: tensor<?x?x?x2xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x2xf32> -> [2]
  %z = read %g : tensor<?x?x?x1xf32> -> [1]
  %less = scale %z {factor = -1.0} : [1]
  %y = read %k : tensor<?x?x?x2xf32> -> [2]
  %half = constant {value = 0.5, width = 1}
  %phi_q = concat %x, %less : [2], [1]
  %phi_k = concat %y, %half : [2], [1]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %phi_q key %phi_k value %values causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 3, quadratic_below = 0>}
    : [2] + [1], [2] + [1], [4]
  return %o : [4]
}
