// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=warps=4 --canonicalize --cse | FileCheck %s

// A warp has 16 whole rows of scores: it finds their largest number with shuffles, and what it computes
// of them is the left factor of the next product. Neither goes through memory.
// CHECK-LABEL: gpu.func @rows(
// CHECK:       warp.mma_sync
// CHECK-NOT:   warp.store_shared %{{.*}} : vector<2xf32>
// CHECK:       arith.maximumf
// CHECK:       warp.shuffle <xor>
// CHECK:       warp.shuffle <xor>
// CHECK:       warp.store_shared %{{.*}} : f32
// CHECK-NOT:   warp.store_shared %{{.*}} : vector
// CHECK:       math.exp
// CHECK-NOT:   warp.store_shared %{{.*}} : vector
// CHECK:       [[A:%.*]] = warp.pack <bf16>
// CHECK-NOT:   warp.store_shared %{{.*}} : vector
// CHECK:       warp.mma_sync <bf16>([[A]],
tile.kernel @rows programs [dim(0, 0)] attributes {arg_names = ["q", "k", "v", "o"], num_inputs = 3} {
^bb0(%q: memref<?x64x64xbf16>, %k: memref<?x64x64xbf16>, %v: memref<?x64x64xbf16>, %o: memref<?x64x64xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %queries = tile.load %q[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %keys = tile.load %k[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %values = tile.load %v[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %dot = tile.dot %queries, %keys : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %scores = tile.map %dot : !tile.tile<64x64xf32> -> !tile.tile<64x64xf32> {
  ^bb0(%s: f32):
    %half = arith.constant 0.5 : f32
    %scaled = arith.mulf %s, %half : f32
    tile.yield %scaled : f32
  }
  %largest = tile.reduce <max> <columns> %scores : !tile.tile<64x64xf32> -> !tile.tile<64x1xf32>
  %weights = tile.map %scores, %largest : !tile.tile<64x64xf32>, !tile.tile<64x1xf32> -> !tile.tile<64x64xf32> {
  ^bb0(%s: f32, %m: f32):
    %d = arith.subf %s, %m : f32
    %e = math.exp %d : f32
    tile.yield %e : f32
  }
  %sums = tile.dot %weights, %values : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %sums, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<64x64xf32>, memref<?x64x64xf32>
}

// With other rows for each warp they go through memory.
// CHECK-LABEL: gpu.func @more_rows(
// CHECK:       warp.mma_sync
// CHECK:       warp.store_shared
// CHECK:       warp.mma_sync
tile.kernel @more_rows programs [dim(0, 0)] attributes {arg_names = ["q", "k", "v", "o"], num_inputs = 3} {
^bb0(%q: memref<?x32x64xbf16>, %k: memref<?x64x64xbf16>, %v: memref<?x64x64xbf16>, %o: memref<?x32x64xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %queries = tile.load %q[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x32x64xbf16> -> !tile.tile<32x64xf32>
  %keys = tile.load %k[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %values = tile.load %v[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %scores = tile.dot %queries, %keys : !tile.tile<32x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<32x64xf32>
  %sums = tile.dot %scores, %values : !tile.tile<32x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<32x64xf32>
  tile.store %sums, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<32x64xf32>, memref<?x32x64xf32>
}

// A weighted sum of rows that are in registers: the products go to memory, where the sum reads them.
// CHECK-LABEL: gpu.func @weighted(
// CHECK:       warp.mma_sync
// CHECK:       [[PRODUCT:%.*]] = arith.mulf
// CHECK:       warp.store_shared
// CHECK:       warp.load_shared
// CHECK:       arith.addf
// CHECK:       warp.shuffle <xor>
tile.kernel @weighted programs [dim(0, 0)] attributes {arg_names = ["q", "k", "w", "o", "z"], num_inputs = 3} {
^bb0(%q: memref<?x64x64xbf16>, %k: memref<?x64x64xbf16>, %w: memref<?x1x64xf32>, %o: memref<?x64x64xf32>, %z: memref<?x64xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %queries = tile.load %q[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %keys = tile.load %k[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x64xbf16> -> !tile.tile<64x64xf32>
  %weights = tile.load %w[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x1x64xf32> -> !tile.tile<1x64xf32>
  %scores = tile.dot %queries, %keys : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %weighted = tile.map %scores, %weights : !tile.tile<64x64xf32>, !tile.tile<1x64xf32> -> !tile.tile<64x64xf32> {
  ^bb0(%s: f32, %m: f32):
    %d = arith.mulf %s, %m : f32
    tile.yield %d : f32
  }
  %sum = tile.reduce <add> <columns> %weighted : !tile.tile<64x64xf32> -> !tile.tile<64x1xf32>
  tile.store %scores, %o[%batch, %c0, %c0] {row_dim = 1, col_dim = 2} : !tile.tile<64x64xf32>, memref<?x64x64xf32>
  tile.store %sum, %z[%batch, %c0] {row_dim = 1, col_dim = -1} : !tile.tile<64x1xf32>, memref<?x64xf32>
}
