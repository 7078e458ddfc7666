// RUN: polyattn-opt %s --tile-repeat-loads | FileCheck %s

// The initial state is the final one where there are no positions; the loop has no use for it, but for the weight.

// CHECK-LABEL: tile.kernel @states
// CHECK: %[[WEIGHT:.*]] = load %w
// CHECK: %[[STATE:.*]] = load %s[
// CHECK: map %[[STATE]]
// CHECK: scf.for
// CHECK: tile.store %[[WEIGHT]]
// CHECK: scf.if
// CHECK: %[[AGAIN:.*]] = tile.load %s[
// CHECK-NEXT: tile.store %[[AGAIN]]
// CHECK: store %[[WEIGHT]]
// What the kernel writes may have changed.
// CHECK: store %{{.*}}, %t
tile.kernel @states programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["s", "w", "t", "o"], num_inputs = 2} {
^bb0(%s: memref<?x?x?x64xf32>, %w: memref<64x64xf32>, %t: memref<64x64xf32>, %o: memref<64x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %s, %c1 : memref<?x?x?x64xf32>
  %weight = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x64xf32> -> !tile.tile<64x64xf32>
  %written = tile.load %t[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x64xf32> -> !tile.tile<64x64xf32>
  %state = tile.load %s[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32> -> !tile.tile<64x64xf32>
  %half = tile.map %state : !tile.tile<64x64xf32> -> !tile.tile<64x64xf32> {
  ^bb0(%a: f32):
    %x = arith.addf %a, %a : f32
    tile.yield %x : f32
  }
  tile.store %half, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    tile.store %weight, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
  }
  %empty = arith.cmpi eq, %n, %c0 : index
  scf.if %empty {
    tile.store %state, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
  }
  tile.store %weight, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
  tile.store %written, %t[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
}
