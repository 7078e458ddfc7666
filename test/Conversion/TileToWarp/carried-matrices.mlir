// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s

// The next value of a matrix that a loop carries.

// Of the value before each element needs its own: the thread that reads it writes it.
// CHECK-LABEL: gpu.func @own_elements(
// CHECK:       scf.for
// CHECK-NOT:     warp.barrier
// CHECK:         warp.load_shared
// CHECK-NOT:     warp.barrier
// CHECK:         warp.store_shared
// CHECK:       warp.mma_sync
tile.kernel @own_elements programs [dim(0, 0)] attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<?x16x16xf32>, %o: memref<?x16x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x16x16xf32>
  %start = tile.load %x[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x16xf32> -> !tile.tile<16x16xf32>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%m = %start) -> (!tile.tile<16x16xf32>) {
    %twice = tile.map %m : !tile.tile<16x16xf32> -> !tile.tile<16x16xf32> {
    ^bb0(%a: f32):
      %b = arith.addf %a, %a : f32
      tile.yield %b : f32
    }
    scf.yield %twice : !tile.tile<16x16xf32>
  }
  %product = tile.dot %end, %end : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.store %product, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<16x16xf32>, memref<?x16x16xf32>
}

// Others read an element before one thread replaces it: the whole new value is computed elsewhere first.
// CHECK-LABEL: gpu.func @other_elements(
// CHECK:       scf.for
// CHECK:         warp.load_shared
// CHECK:         warp.store_shared
// CHECK:         warp.barrier
// CHECK:         warp.load_shared
// CHECK-NOT:     warp.barrier
// CHECK:         warp.store_shared
// CHECK:       warp.mma_sync
tile.kernel @other_elements programs [dim(0, 0)] attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<?x16x16xf32>, %o: memref<?x16x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x16x16xf32>
  %start = tile.load %x[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x16xf32> -> !tile.tile<16x16xf32>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%m = %start) -> (!tile.tile<16x16xf32>) {
    %turned = tile.transpose %m : !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    scf.yield %turned : !tile.tile<16x16xf32>
  }
  %product = tile.dot %end, %end : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.store %product, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<16x16xf32>, memref<?x16x16xf32>
}

// Two matrices change places, one of them in memory, since a product reads it, and one in registers. What
// becomes the memory's are registers from before this iteration read it.
// CHECK-LABEL: gpu.func @places(
// CHECK:       scf.for {{.*}} iter_args(%[[A:.*]] = %cst, %[[B:.*]] = %cst, %[[C:.*]] = %cst, %[[D:.*]] = %cst)
// CHECK:         warp.barrier
// CHECK:         warp.load_shared
// CHECK:         warp.barrier
// CHECK:         %[[AB:.*]] = warp.pack <bf16> %[[A]], %[[B]]
// CHECK:         warp.store_shared %[[AB]]
// CHECK:         %[[CD:.*]] = warp.pack <bf16> %[[C]], %[[D]]
// CHECK:         warp.store_shared %[[CD]]
// CHECK:         scf.yield
tile.kernel @places programs [dim(0, 0)] attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<?x16x16xf32>, %o: memref<?x16x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x16x16xf32>
  %start = tile.load %x[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x16x16xf32> -> !tile.tile<16x16xf32>
  %zero = tile.constant 0.0 : !tile.tile<16x16xf32>
  %end, %other = scf.for %i = %c0 to %n step %c1 iter_args(%m = %start, %z = %zero) -> (!tile.tile<16x16xf32>, !tile.tile<16x16xf32>) {
    scf.yield %z, %m : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>
  }
  tile.store %other, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<16x16xf32>, memref<?x16x16xf32>
  %product = tile.dot %end, %end : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.store %product, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<16x16xf32>, memref<?x16x16xf32>
}
