// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s
// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=shared-bytes=1536 --canonicalize --cse | FileCheck %s --check-prefix=ROOM
// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=pipeline-copies=false --canonicalize --cse | FileCheck %s --check-prefix=STEPS

// Copies of later steps start before the first one, where shared memory has room for them. So do those
// of a tensor that a map alone reads, whose elements would be loaded at their use. Each step waits for
// its own copies: the products of the first one with those of two later ones on their way.

// CHECK-LABEL: gpu.func @steps
// CHECK: warp.copy_async %[[K:arg[0-9]+]][
// CHECK: warp.commit_copies
// CHECK: warp.copy_async %[[V:arg[0-9]+]][
// CHECK: warp.commit_copies
// CHECK: warp.copy_async %[[G:arg[0-9]+]][
// CHECK: warp.commit_copies
// CHECK-NEXT: warp.wait_copies 2
// CHECK-NEXT: warp.barrier
// CHECK: warp.mma_sync
// CHECK: warp.wait_copies 1
// CHECK-NEXT: warp.barrier
// CHECK: warp.mma_sync
// CHECK: warp.wait_copies 0
// CHECK-NEXT: warp.barrier
// CHECK-NOT: warp.load_global
// CHECK: math.exp
// CHECK: warp.mma_sync

// There is room for two tiles. The keys' is free when that of the features is needed, so that the
// values come early. The gates would be a third tile.

// ROOM-LABEL: gpu.func @steps
// ROOM-SAME: warp.shared_bytes = 1536
// ROOM: warp.copy_async
// ROOM: warp.copy_async
// ROOM: warp.wait_copies 1
// ROOM: warp.mma_sync
// ROOM: warp.mma_sync
// ROOM-NOT: warp.copy_async
// ROOM: warp.load_global
// ROOM: math.exp

// Without copies ahead each step starts its own.

// STEPS-LABEL: gpu.func @steps
// STEPS: warp.copy_async
// STEPS: warp.wait_copies 0
// STEPS: warp.mma_sync
// STEPS: warp.copy_async
// STEPS: warp.wait_copies 0
// STEPS: warp.mma_sync
// STEPS: warp.load_global
// STEPS: math.exp
// STEPS: warp.mma_sync
tile.kernel @steps programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "v", "g", "o"], num_inputs = 3} {
^bb0(%k: memref<?x?x?x16xbf16>, %v: memref<?x?x?x16xbf16>, %g: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x16xbf16>
  %valid = arith.minsi %n, %c16 : index
  %keys = tile.load %k[%batch, %c0, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %squares = tile.dot %keys, %keys : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.store %squares, %o[%batch, %c0, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
  %second = arith.minsi %valid, %c16 : index
  %values = tile.load %v[%batch, %c0, %head, %c0] valid %second {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %sums = tile.dot %values, %values : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.store %sums, %o[%batch, %c16, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
  %gates = tile.load %g[%batch, %c0, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %features = tile.map %gates : !tile.tile<16x16xf32> -> !tile.tile<16x16xf32> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    tile.yield %y : f32
  }
  %last = tile.dot %features, %values : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.store %last, %o[%batch, %n, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
}
