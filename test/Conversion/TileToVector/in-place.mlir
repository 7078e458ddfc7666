// RUN: polyattn-opt %s --polyattn-cpu-pipeline="stop-after=vector target=x86-64-v3" | FileCheck %s

// A product with one column takes each row of its matrix once: the program reads rows in the tensor, whose stride a call
// says, and keeps no copy.
// CHECK-LABEL: func.func @one_column
//       CHECK: scf.for
//   CHECK-NOT:   scf.for
//       CHECK:   llvm.getelementptr %[[W:.*]][%{{.*}}] : (!llvm.ptr, i64)
//       CHECK:   scf.for %{{.*}} = %c0_i64 to %c16_i64
//       CHECK:     vector.fma
tile.kernel @one_column programs [dim(0, 0)] attributes {arg_names = ["x", "w", "o"], num_inputs = 2 : i64} {
^bb0(%x: memref<?x16xf32, strided<[?, 1], offset: ?>>, %w: memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x64xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %head = tile.program_id 0 : index
  %weights = tile.load %w[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>> -> <16x64xf32>
  %column = tile.load %x[%head, %c0] {row_dim = 1, col_dim = -1} : memref<?x16xf32, strided<[?, 1], offset: ?>> -> <16x1xf32>
  %y = tile.dot %weights, %column precision <f32> {lhs_transposed} : <16x64xf32>, <16x1xf32> -> <64x1xf32>
  tile.store %y, %o[%head, %c0] {row_dim = 1, col_dim = -1} : <64x1xf32>, memref<?x64xf32, strided<[?, 1], offset: ?>>
}

// With two columns rows are read more than once, and lie side by side then.
// CHECK-LABEL: func.func @two_columns
//       CHECK: scf.for
//       CHECK:   scf.for %{{.*}} = %c0_i64 to %c16_i64 step %c1_i64
//   CHECK-NOT:     vector.fma
//       CHECK:     llvm.store
//       CHECK: vector.fma
tile.kernel @two_columns programs [dim(0, 0)] attributes {arg_names = ["x", "w", "o"], num_inputs = 2 : i64} {
^bb0(%x: memref<?x16x2xf32, strided<[?, ?, 1], offset: ?>>, %w: memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x64x2xf32, strided<[?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %head = tile.program_id 0 : index
  %weights = tile.load %w[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>> -> <16x64xf32>
  %columns = tile.load %x[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x2xf32, strided<[?, ?, 1], offset: ?>> -> <16x2xf32>
  %y = tile.dot %weights, %columns precision <f32> {lhs_transposed} : <16x64xf32>, <16x2xf32> -> <64x2xf32>
  tile.store %y, %o[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : <64x2xf32>, memref<?x64x2xf32, strided<[?, ?, 1], offset: ?>>
}

// Nor is a matrix read in place that the program may write before it is used: results can live in arguments.
// CHECK-LABEL: func.func @written
//       CHECK: scf.for
//       CHECK:   scf.for %{{.*}} = %c0_i64 to %c16_i64 step %c1_i64
//   CHECK-NOT:     vector.fma
//       CHECK:     llvm.store
//       CHECK: vector.fma
tile.kernel @written programs [dim(0, 0)] attributes {arg_names = ["x", "w", "o", "s"], num_inputs = 2 : i64} {
^bb0(%x: memref<?x16xf32, strided<[?, 1], offset: ?>>, %w: memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>>,
     %o: memref<?x64xf32, strided<[?, 1], offset: ?>>, %s: memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %head = tile.program_id 0 : index
  %weights = tile.load %w[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>> -> <16x64xf32>
  %zero = tile.constant 0.0 : <16x64xf32>
  tile.store %zero, %s[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : <16x64xf32>, memref<?x16x64xf32, strided<[?, ?, 1], offset: ?>>
  %column = tile.load %x[%head, %c0] {row_dim = 1, col_dim = -1} : memref<?x16xf32, strided<[?, 1], offset: ?>> -> <16x1xf32>
  %y = tile.dot %weights, %column precision <f32> {lhs_transposed} : <16x64xf32>, <16x1xf32> -> <64x1xf32>
  tile.store %y, %o[%head, %c0] {row_dim = 1, col_dim = -1} : <64x1xf32>, memref<?x64xf32, strided<[?, 1], offset: ?>>
}
