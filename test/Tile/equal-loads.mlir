// RUN: polyattn-opt %s --cse | FileCheck %s
// No program writes an input: equal loads of it are one, whatever is stored in
// between. A result may be written.

#m = strided<[?, 1], offset: ?>

// CHECK-LABEL: tile.kernel @loads
// CHECK:         [[X:%.*]] = load %x
// CHECK:         [[Y:%.*]] = load %y
// CHECK:         store [[X]], %y
// CHECK-NOT:     load %x
// CHECK:         [[Z:%.*]] = load %y
// CHECK:         store [[X]], %y
// CHECK-NEXT:    store [[Y]], %y
// CHECK-NEXT:    store [[Z]], %y
tile.kernel @loads attributes {arg_names = ["x", "y"], num_inputs = 1} {
^bb0(%x: memref<?x?xf32, #m>, %y: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<4x4xf32>
  %old = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<4x4xf32>
  tile.store %a, %y[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<?x?xf32, #m>
  %b = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<4x4xf32>
  %new = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<4x4xf32>
  tile.store %b, %y[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<?x?xf32, #m>
  tile.store %old, %y[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<?x?xf32, #m>
  tile.store %new, %y[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<?x?xf32, #m>
}
