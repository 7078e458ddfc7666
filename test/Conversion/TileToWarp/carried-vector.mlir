// RUN: polyattn-opt %s --tile-to-warp --canonicalize --cse | FileCheck %s

// A vector that a loop carries, with another loop before its end: which thread has which element is
// computed after that loop.

// CHECK: gpu.func @carried(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: warp.store_shared
// CHECK: warp.store_global
tile.kernel @carried programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<?x?x?x16xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<?x?x?x16xf32>
  %s = tile.buffer : !tile.buffer<16x1>
  %zero = tile.constant 0.0 : !tile.tile<1x16xf32>
  %sum = scf.for %t = %c0 to %n step %c1 iter_args(%old = %zero) -> (!tile.tile<1x16xf32>) {
    %row = tile.load %x[%batch, %t, %head, %c0] {row_dim = -1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<1x16xf32>
    %new = tile.map %old, %row : !tile.tile<1x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<1x16xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    scf.for %i = %c0 to %t step %c1 {
      %column = tile.load %x[%batch, %i, %head, %c0] {row_dim = 3, col_dim = -1} : memref<?x?x?x16xf32> -> !tile.tile<16x1xf32>
      %twice = tile.map %column, %column : !tile.tile<16x1xf32>, !tile.tile<16x1xf32> -> !tile.tile<16x1xf32> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      tile.write %twice, %s[%c0] : !tile.tile<16x1xf32>, !tile.buffer<16x1>
    }
    scf.yield %new : !tile.tile<1x16xf32>
  }
  tile.store %sum, %o[%batch, %c0, %head, %c0] {row_dim = -1, col_dim = 3} : !tile.tile<1x16xf32>, memref<?x?x?x16xf32>
}
