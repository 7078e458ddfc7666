// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp="warps=8 shared-bytes=45000 pipeline-copies=false" --canonicalize --cse | FileCheck %s
// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp="warps=8 shared-bytes=44000 pipeline-copies=false" --canonicalize --cse | FileCheck %s --check-prefix=SMALL

// Two weights, of which shared memory has room for one all the time. The other one is copied there for its product in
// each iteration; the sequence that only the second product needs comes after that.

// CHECK-LABEL: gpu.func @two_weights(
// CHECK-SAME:  #warp.resident<"weight u" : vector<64x128xbf16> in shared>, #warp.resident<"weight w" : vector<64x128xbf16> in staged>
// CHECK:       warp.copy_async %arg12
// CHECK:       scf.for {{.*}} step %c64
// CHECK:         warp.copy_async %arg0
// CHECK:         warp.copy_async %arg10
// CHECK:         warp.wait_copies
// CHECK-NOT:     warp.load_global
// CHECK:         warp.mma_sync
// CHECK:         warp.copy_async %arg5
// CHECK:         warp.wait_copies
// CHECK-NOT:     warp.load_global
// CHECK:         warp.mma_sync

// It takes no room from the first one.
// SMALL-LABEL: gpu.func @two_weights(
// SMALL-SAME:  #warp.resident<"weight u" : vector<64x128xbf16> in shared>, #warp.resident<"weight w" : vector<64x128xbf16> in tensor>
tile.kernel @two_weights programs [dim(0, 0)] attributes {arg_names = ["x", "y", "w", "u", "o", "p"], num_inputs = 4} {
^bb0(%x: memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>>, %y: memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>>, %w: memref<64x128xbf16, strided<[?, 1], offset: ?>>, %u: memref<64x128xbf16, strided<[?, 1], offset: ?>>, %o: memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>, %p: memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %x, %c1 : memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>>
  %later = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x128xbf16, strided<[?, 1], offset: ?>> -> !tile.tile<64x128xf32>
  %sooner = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x128xbf16, strided<[?, 1], offset: ?>> -> !tile.tile<64x128xf32>
  scf.for %t = %c0 to %n step %c64 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c64 : index
    %b = tile.load %y[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>> -> !tile.tile<64x64xf32>
    %a = tile.load %x[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>> -> !tile.tile<64x64xf32>
    %first = tile.dot %a, %sooner : !tile.tile<64x64xf32>, !tile.tile<64x128xf32> -> !tile.tile<64x128xf32>
    tile.store %first, %o[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : !tile.tile<64x128xf32>, memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>
    %second = tile.dot %b, %later : !tile.tile<64x64xf32>, !tile.tile<64x128xf32> -> !tile.tile<64x128xf32>
    tile.store %second, %p[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : !tile.tile<64x128xf32>, memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>
  }
}

// What the kernel itself may write is not copied later than it was read, nor again.
// CHECK-LABEL: gpu.func @written(
// CHECK-NOT:   staged
tile.kernel @written programs [dim(0, 0)] attributes {arg_names = ["x", "u", "o", "w", "y", "p"], num_inputs = 2} {
^bb0(%x: memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>>, %u: memref<64x128xbf16, strided<[?, 1], offset: ?>>, %o: memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>, %w: memref<64x128xbf16, strided<[?, 1], offset: ?>>, %y: memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>>, %p: memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %x, %c1 : memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>>
  %later = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x128xbf16, strided<[?, 1], offset: ?>> -> !tile.tile<64x128xf32>
  %sooner = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x128xbf16, strided<[?, 1], offset: ?>> -> !tile.tile<64x128xf32>
  scf.for %t = %c0 to %n step %c64 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c64 : index
    %b = tile.load %y[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>> -> !tile.tile<64x64xf32>
    %a = tile.load %x[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : memref<?x?x64xbf16, strided<[?, ?, 1], offset: ?>> -> !tile.tile<64x64xf32>
    %first = tile.dot %a, %sooner : !tile.tile<64x64xf32>, !tile.tile<64x128xf32> -> !tile.tile<64x128xf32>
    tile.store %first, %o[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : !tile.tile<64x128xf32>, memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>
    %second = tile.dot %b, %later : !tile.tile<64x64xf32>, !tile.tile<64x128xf32> -> !tile.tile<64x128xf32>
    tile.store %second, %p[%batch, %t, %c0] valid %valid {row_dim = 1, col_dim = 2} : !tile.tile<64x128xf32>, memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>
  }
}
