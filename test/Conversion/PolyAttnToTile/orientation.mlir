// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// The result of an attend has rows. An element-wise function of it and of tensors is computed from rows, as it is stored, and
// reads the tensor so, too. The number of each position is a row that becomes a column.

// CHECK-LABEL: tile.kernel @elements
// CHECK-DAG: %[[X:.*]] = tile.load %x[{{.*}}] valid %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64} : {{.*}} -> <8x4xf32>
// CHECK-DAG: %[[N:.*]] = tile.load %n[{{.*}} transposed} : {{.*}} -> <1x8xf32>
// CHECK-DAG: %[[COLUMN:.*]] = tile.transpose %[[N]] : <1x8xf32> -> <8x1xf32>
// CHECK: %[[Y:.*]] = tile.map %{{.*}}, %[[X]], %[[COLUMN]]
// CHECK-NOT: tile.transpose
// CHECK: tile.store %[[Y]], %o[
polyattn.attention @elements(%q: tensor<?x?x?x4xf32>, %x: tensor<?x?x?x4xf32>, %n: tensor<?x?x?x1xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %0 = read %q : tensor<?x?x?x4xf32> -> [4]
  %1 = read %x : tensor<?x?x?x4xf32> -> [4]
  %2 = read %n : tensor<?x?x?x1xf32> -> [1]
  %3 = attend query %0 key %0 value %0 causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4]
  %4 = hadamard %3, %1, %2 : [4], [4], [1]
  return %4 : [4]
}

// A sum over features of tensors that nothing else reads is one over the columns of rows. An exponential that is needed both ways
// is computed once and transposed; a product with a number is less work.

// CHECK-LABEL: tile.kernel @sums
// CHECK-DAG: %[[X:.*]] = tile.load %x[{{.*}}] valid %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64} : {{.*}} -> <8x4xf32>
// CHECK-DAG: %[[Y:.*]] = tile.load %y[{{.*}}] valid %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64} : {{.*}} -> <8x4xf32>
// CHECK-DAG: %[[XY:.*]] = tile.map %[[X]], %[[Y]]
// CHECK-DAG: %[[SUM:.*]] = tile.reduce <add> <columns> %[[XY]] : <8x4xf32> -> <8x1xf32>
// CHECK-DAG: tile.transpose %[[SUM]] : <8x1xf32> -> <1x8xf32>
// CHECK-NOT: tile.load %x[{{.*}} transposed
polyattn.attention @sums(%q: tensor<?x?x?x4xf32>, %x: tensor<?x?x?x4xf32>, %y: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %0 = read %q : tensor<?x?x?x4xf32> -> [4]
  %1 = read %x : tensor<?x?x?x4xf32> -> [4]
  %2 = read %y : tensor<?x?x?x4xf32> -> [4]
  %3 = hadamard %1, %2 : [4], [4]
  %4 = sum %3 : [4]
  %5 = hadamard %0, %4 : [4], [1]
  %6 = attend query %5 key %0 value %0 causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4]
  return %6 : [4]
}

// CHECK-LABEL: tile.kernel @both_ways
// CHECK: %[[E:.*]] = tile.map %{{.*}} : !tile.tile<8x4xf32> -> <8x4xf32>
// CHECK: math.exp
// CHECK: tile.transpose %[[E]] : <8x4xf32> -> <4x8xf32>
// CHECK-NOT: math.exp
// CHECK-LABEL: tile.kernel @cheap
// CHECK-NOT: tile.transpose
polyattn.attention @both_ways(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %0 = read %q : tensor<?x?x?x4xf32> -> [4]
  %1 = exp %0 : [4]
  %2 = attend query %0 key %1 value %1 causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4]
  return %2 : [4]
}
polyattn.attention @cheap(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %0 = read %q : tensor<?x?x?x4xf32> -> [4]
  %1 = scale %0 {factor = 2.0} : [4]
  %2 = attend query %0 key %1 value %1 causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4]
  return %2 : [4]
}
