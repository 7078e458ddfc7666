// RUN: polyattn-opt %s --tile-to-warp --canonicalize --cse | FileCheck %s

// What a load brings goes into a buffer and nowhere else.

// CHECK: gpu.func @kept
// CHECK: warp.load_global %{{.*}} {read_only} : vector<2xi32>
// CHECK: warp.store_shared %{{.*}} : vector<4xf32>
// CHECK: warp.barrier
// CHECK: warp.load_shared
// CHECK: warp.store_global
tile.kernel @kept programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "o"], num_inputs = 1} {
^bb0(%k: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<16x16>
  %rows = tile.load %k[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  tile.write %rows, %s[%c0] : !tile.tile<16x16xf32>, !tile.buffer<16x16>
  %again = tile.read %s[%c0] : !tile.buffer<16x16> -> !tile.tile<16x16xf32>
  tile.store %again, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
}
