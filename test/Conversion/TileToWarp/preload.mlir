// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=pipeline-copies=false --canonicalize --cse | FileCheck %s

// A thread computes 32 elements of a map in four passes. It loads all of them before it computes with the first.

// CHECK-LABEL: gpu.func @passes
// CHECK: scf.if
// CHECK-COUNT-4: warp.load_global %{{.*}} {read_only} : vector<4xi32>
// CHECK: } else {
// CHECK-COUNT-32: warp.load_global %{{.*}} {read_only} : i16
// CHECK-NOT: warp.load_global
// CHECK-COUNT-8: math.exp
// CHECK: warp.store_shared %{{.*}} : vector<4xi32>
// CHECK-COUNT-24: math.exp
// CHECK: warp.ldmatrix
// CHECK: warp.mma_sync
tile.kernel @passes programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "v", "o"], num_inputs = 2} {
^bb0(%k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
  %valid = arith.minsi %n, %c64 : index
  %values = tile.load %v[%batch, %c0, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<64x16xf32>
  %keys = tile.load %k[%batch, %c0, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
  %features = tile.map %keys : !tile.tile<64x64xf32> -> !tile.tile<64x64xf32> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    tile.yield %y : f32
  }
  %sums = tile.dot %features, %values : !tile.tile<64x64xf32>, !tile.tile<64x16xf32> -> !tile.tile<64x16xf32>
  tile.store %sums, %o[%batch, %c0, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<64x16xf32>, memref<?x?x?x16xbf16>
}
