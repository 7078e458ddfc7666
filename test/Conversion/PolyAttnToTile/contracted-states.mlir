// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// The gradient of a query under (q . k)^2: the state has a row of 5 numbers and one beside them for each of the
// 6 pairs of elements of k, where the attend's features are 3 x 6 and its values 3 numbers.

// CHECK-LABEL: tile.kernel @d_q programs
// CHECK-DAG:     %[[S:.*]] = buffer : <6x5>
// CHECK-DAG:     %[[Z:.*]] = buffer : <6x1>
// CHECK:         scf.for
// CHECK-DAG:       %[[Q:.*]] = tile.load %q{{.*}}transposed
// CHECK-DAG:       %[[K:.*]] = tile.load %k{{.*}}transposed
// CHECK-DAG:       %[[NONE:.*]] = tile.constant 0.0{{.*}} : <3x16xf32>
// CHECK:           %[[ROWS:.*]] = tile.read %[[S]]
// CHECK:           %[[GRADIENT:.*]] = tile.dot %[[ROWS]], %{{.*}} acc
// CHECK:           %[[SUM:.*]] = tile.contract %[[GRADIENT]], %[[Q]][%c0] acc %[[NONE]]
// CHECK-SAME:        weights = array<f64: 1.000000e+00, 2.000000e+00, 2.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00>
// CHECK:           %[[PAIRS:.*]] = tile.monomials %[[K]][%c0]
// CHECK:           tile.write %{{.*}}, %[[Z]]
// CHECK:           tile.accumulate %[[PAIRS]], %{{.*}}, %[[S]]
// CHECK:           tile.transpose %[[SUM]]
#contracted = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 6, quadratic_below = 0, contracted = true>
polyattn.attention @d_q(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x5xf32>,
                        %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>) -> (d_q: tensor<?x?x?x3xf32>) {
  %a = read %q : tensor<?x?x?x3xf32> -> [3]
  %b = read %k : tensor<?x?x?x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %one : [5], [1]
  %query = tensor %a, %rows : [3], [5] + [1]
  %key = tensor %b, %columns : [3], [5] + [1]
  %o = attend query %query key %key value %b causal normalize <none>
    {grouping = #polyattn.grouping<block>, score_scale = 2.0, schedule = #contracted}
    : [3] x ([5] + [1]), [3] x ([5] + [1]), [3]
  return %o : [3]
}

// Of a key: the other way round, with what is beside the numbers of a row not 1. The number that the value is a
// multiple of comes to the weights.
// CHECK-LABEL: tile.kernel @d_k programs
// CHECK:         tile.contract {{.*}} weights = array<f64: 5.000000e-01, 1.000000e+00, 5.000000e-01>
// CHECK:         %[[PAIRS:.*]] = tile.monomials
// CHECK:         tile.map %[[PAIRS]], %{{.*}} : !tile.tile<3x16xf32>, !tile.tile<1x16xf32>
polyattn.attention @d_k(%q: tensor<?x?x?x2xf32>, %k: tensor<?x?x?x2xf32>, %v: tensor<?x?x?x5xf32>,
                        %n: tensor<?x?x?x5xf32>, %z: tensor<?x?x?x1xf32>) -> (d_k: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x2xf32> -> [2]
  %b = read %k : tensor<?x?x?x2xf32> -> [2]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %dn = read %n : tensor<?x?x?x5xf32> -> [5]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %rows = concat %dn, %dz : [5], [1]
  %columns = concat %c, %one : [5], [1]
  %query = tensor %b, %columns : [2], [5] + [1]
  %key = tensor %a, %rows : [2], [5] + [1]
  %twice = scale %key {factor = 2.0} : [2] x ([5] + [1])
  %half = scale %a {factor = 0.5} : [2]
  %o = attend query %query key %twice value %half anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys, schedule = #contracted}
    : [2] x ([5] + [1]), [2] x ([5] + [1]), [2]
  return %o : [2]
}
