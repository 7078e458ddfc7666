// RUN: polyattn-opt %s --tile-to-vector="vector-width=16 registers=32" | FileCheck %s

#rows = strided<[?, 1], offset: ?>

// Columns are lanes: 20 of them are a vector of 16 and one of 4, and no lane moves to another. A
// block's levels run in a loop inside of the loop over the smallest blocks.
// CHECK-LABEL: func.func @forward
// CHECK: llvm.intr.cttz
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     scf.for
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK:   scf.if
// CHECK-COUNT-4: llvm.store {{.*}} vector<4xf32>
// CHECK-NOT: vector.shuffle
// CHECK: return
tile.kernel @forward attributes {arg_names = ["x", "r"], num_inputs = 0} {
^bb0(%x: memref<?x40xf32, #rows>, %r: memref<?x2xf32, #rows>):
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x40xf32, #rows>
  tile.fourier %x[] rows %n roots %r : memref<?x40xf32, #rows>, memref<?x2xf32, #rows>
}

// A load of what a program transforms stays in the program.
// CHECK-LABEL: func.func @loads
// CHECK-NOT: llvm.load {{.*}} vector<16xf32>
// CHECK: scf.for %{{[a-z0-9]+}} = %arg1 to %arg2
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
tile.kernel @loads attributes {arg_names = ["x", "r", "o"], num_inputs = 0} {
^bb0(%x: memref<?x16xf32, #rows>, %r: memref<?x2xf32, #rows>, %o: memref<?x16xf32, #rows>):
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x16xf32, #rows> -> !tile.tile<2x16xf32>
  tile.fourier %x[] rows %c2 roots %r : memref<?x16xf32, #rows>, memref<?x2xf32, #rows>
  tile.store %a, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<2x16xf32>, memref<?x16xf32, #rows>
}
