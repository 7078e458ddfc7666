// RUN: polyattn-opt %s --tile-move-scales --canonicalize | FileCheck %s

// A scale along the sum goes to the factor that is computed anyway, as a row of it; a scale of the result's rows goes to
// the result. Both products read the tensor as memory has it.

// CHECK-LABEL: tile.kernel @scales
//       CHECK: %[[X:.*]] = load %x
//       CHECK: %[[F:.*]] = load %f{{.*}} -> <16x1xf32>
//       CHECK: %[[S:.*]] = dot %{{.*}}, %[[X]] precision <split_bf16> {lhs_transposed}
//       CHECK: %[[P:.*]] = map %[[S]]
//       CHECK:   mulf %[[A:.*]], %[[A]]
//       CHECK: %[[T:.*]] = transpose %[[F]] : <16x1xf32> -> <1x16xf32>
//       CHECK: %[[SCALED:.*]] = map %[[P]], %[[T]]
//       CHECK: %[[O:.*]] = dot %[[SCALED]], %[[X]] acc %{{.*}} precision <split_bf16>
//       CHECK: %[[R:.*]] = dot %[[X]], %{{.*}} precision <split_bf16>
//       CHECK: %[[ROWS:.*]] = map %[[R]], %[[F]]
//       CHECK: accumulate %[[P2:.*]], %[[X]], %{{.*}}
tile.kernel @scales programs [dim(0, 0)] attributes {arg_names = ["x", "f", "o"], num_inputs = 2 : i64} {
^bb0(%x: memref<?x16x16xbf16>, %f: memref<?x16x1xf32>, %o: memref<?x16x16xf32>):
  %c0 = arith.constant 0 : index
  %b = tile.program_id 0 : index
  %m = tile.load %x[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x16xbf16> -> <16x16xf32>
  %v = tile.load %f[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x1xf32> -> <16x1xf32>
  %state = tile.buffer : !tile.buffer<16x16>
  %scaled = tile.map %m, %v : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> <16x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %y = arith.mulf %i, %j : f32
    tile.yield %y : f32
  }
  %s = tile.dot %m, %m precision <split_bf16> {lhs_transposed} : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %p = tile.map %s : !tile.tile<16x16xf32> -> <16x16xf32> {
  ^bb0(%i: f32):
    %y = arith.mulf %i, %i : f32
    tile.yield %y : f32
  }
  %sum = tile.dot %p, %scaled acc %s : !tile.tile<16x16xf32> precision <split_bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %r = tile.dot %scaled, %sum precision <split_bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %e = tile.map %r : !tile.tile<16x16xf32> -> <16x16xf32> {
  ^bb0(%i: f32):
    %y = arith.addf %i, %i : f32
    tile.yield %y : f32
  }
  tile.accumulate %e, %scaled, %state[%c0] precision <split_bf16> : <16x16xf32>, <16x16xf32>, <16x16>
  %all = tile.read %state[%c0] : !tile.buffer<16x16> -> !tile.tile<16x16xf32>
  tile.store %all, %o[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : <16x16xf32>, memref<?x16x16xf32>
}

// What stays: a factor that others read, features that products form in registers, a tensor that one bf16 does not hold,
// a product that rounds its operands, the scale of a result to which something is added, and a product of a row.

// CHECK-LABEL: tile.kernel @stay
//       CHECK: %[[SCALED:.*]] = map %{{.*}}, %{{.*}}
//       CHECK: %[[F32:.*]] = map %{{.*}}, %{{.*}}
//       CHECK: dot %{{.*}}, %[[SCALED]] precision <split_bf16>
//       CHECK: dot %{{.*}}, %[[SCALED]] precision <split_bf16> {lhs_transposed}
//       CHECK: dot %{{.*}}, %[[F32]] precision <split_bf16>
//       CHECK: dot %{{.*}}, %[[SCALED]] precision <bf16>
//       CHECK: dot %[[SCALED]], %{{.*}} acc %{{.*}} precision <split_bf16>
//       CHECK: dot %{{.*}}, %[[SCALED]] precision <split_bf16> : <1x16xf32>
tile.kernel @stay programs [dim(0, 0)] attributes {arg_names = ["x", "f", "w", "o"], num_inputs = 3 : i64} {
^bb0(%x: memref<?x16x16xbf16>, %f: memref<?x16x1xf32>, %w: memref<?x16x16xf32>, %o: memref<?x16x16xf32>):
  %c0 = arith.constant 0 : index
  %b = tile.program_id 0 : index
  %m = tile.load %x[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x16xbf16> -> <16x16xf32>
  %v = tile.load %f[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x1xf32> -> <16x1xf32>
  %n = tile.load %w[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x16xf32> -> <16x16xf32>
  %row = tile.load %w[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x16xf32> -> <1x16xf32>
  %scaled = tile.map %m, %v : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> <16x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %y = arith.mulf %i, %j : f32
    tile.yield %y : f32
  }
  %exact = tile.map %n, %v : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> <16x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %y = arith.mulf %i, %j : f32
    tile.yield %y : f32
  }
  %0 = tile.dot %exact, %scaled precision <split_bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %phi = tile.monomials %m[%c0] {table = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 8], [8, 9], [9, 10], [10, 11], [11, 12], [12, 13], [13, 14], [14, 15], [0, 0]]> : tensor<16x2xi32>} : <16x16xf32> -> <16x16xf32>
  %1 = tile.dot %phi, %scaled precision <split_bf16> {lhs_transposed} : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %2 = tile.dot %0, %exact precision <split_bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %3 = tile.dot %1, %scaled precision <bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %4 = tile.dot %scaled, %2 acc %3 : !tile.tile<16x16xf32> precision <split_bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
  %5 = tile.dot %row, %scaled precision <split_bf16> : <1x16xf32>, <16x16xf32> -> <1x16xf32>
  %all = tile.map %4, %5, %0 : !tile.tile<16x16xf32>, !tile.tile<1x16xf32>, !tile.tile<16x16xf32> -> <16x16xf32> {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %y = arith.addf %i, %j : f32
    %z = arith.addf %y, %k : f32
    tile.yield %z : f32
  }
  tile.store %all, %o[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : <16x16xf32>, memref<?x16x16xf32>
}
