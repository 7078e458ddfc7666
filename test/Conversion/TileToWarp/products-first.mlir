// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s

// Products times what a tensor has. 64 accumulators in each thread, and as many factors while the product is computed,
// would leave its fragments too few registers: the factors come after it.
// CHECK-LABEL: gpu.func @many(
// CHECK-NOT:   warp.load_global %{{.*}} : vector<2xf32>
// CHECK:       warp.mma_sync
// CHECK:       warp.load_global %{{.*}} : vector<2xf32>
tile.kernel @many programs [dim(0, 0)] attributes {arg_names = ["x", "w", "a", "o"], num_inputs = 3} {
^bb0(%x: memref<?x64x64xbf16>, %w: memref<64x128xbf16>, %a: memref<?x64x128xf32>, %o: memref<?x64x128xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %rows = tile.load %x[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %weight = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x128xbf16> -> !tile.tile<64x128xf32>
  %factors = tile.load %a[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x128xf32> -> !tile.tile<64x128xf32>
  %product = tile.dot %rows, %weight : !tile.tile<64x64xf32>, !tile.tile<64x128xf32> -> !tile.tile<64x128xf32>
  %scaled = tile.map %factors, %product : !tile.tile<64x128xf32>, !tile.tile<64x128xf32> -> !tile.tile<64x128xf32> {
  ^bb0(%f: f32, %p: f32):
    %s = arith.mulf %f, %p : f32
    tile.yield %s : f32
  }
  tile.store %scaled, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<64x128xf32>, memref<?x64x128xf32>
}

// 32 of each are there together, and the factors are loaded while the product waits for nothing.
// CHECK-LABEL: gpu.func @few(
// CHECK:       warp.load_global %{{.*}} : vector<2xf32>
// CHECK:       warp.mma_sync
tile.kernel @few programs [dim(0, 0)] attributes {arg_names = ["x", "w", "a", "o"], num_inputs = 3} {
^bb0(%x: memref<?x64x64xbf16>, %w: memref<64x64xbf16>, %a: memref<?x64x64xf32>, %o: memref<?x64x64xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %rows = tile.load %x[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %weight = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x64xbf16> -> !tile.tile<64x64xf32>
  %factors = tile.load %a[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xf32> -> !tile.tile<64x64xf32>
  %product = tile.dot %rows, %weight : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %scaled = tile.map %factors, %product : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32> {
  ^bb0(%f: f32, %p: f32):
    %s = arith.mulf %f, %p : f32
    tile.yield %s : f32
  }
  tile.store %scaled, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<64x64xf32>, memref<?x64x64xf32>
}
