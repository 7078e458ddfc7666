// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=pipeline-copies=false --canonicalize --cse | FileCheck %s

// exp(0) of a position past the end is no term of the state's update: each word of a left fragment is masked. Values
// past the end are zeros, and are not. (Terms that are zeros: state.mlir.)

// CHECK-LABEL: gpu.func @exponentials(
// CHECK: warp.mma_sync <bf16>
// CHECK: %[[A:.*]]:4 = warp.ldmatrix %{{.*}} {transposed} : i32, i32, i32, i32
// CHECK: %[[A0:.*]] = arith.andi %[[A]]#0
// CHECK: %[[A1:.*]] = arith.andi %[[A]]#1
// CHECK: %[[A2:.*]] = arith.andi %[[A]]#2
// CHECK: %[[A3:.*]] = arith.andi %[[A]]#3
// CHECK: %[[B:.*]]:2 = warp.ldmatrix
// CHECK: warp.mma_sync <bf16>(%[[A0]], %[[A1]], %[[A2]], %[[A3]]) (%[[B]]#0, %[[B]]#1)
tile.kernel @exponentials programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "v", "o"], num_inputs = 2} {
^bb0(%k: memref<?x?x?x16xbf16>, %v: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x16xbf16>
  %s = tile.buffer : !tile.buffer<16x16>
  scf.for %t = %c0 to %n step %c16 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c16 : index
    %phi = tile.load %k[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %values = tile.load %v[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %features = tile.map %phi : !tile.tile<16x16xf32> -> !tile.tile<16x16xf32> {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      tile.yield %y : f32
    }
    %old = tile.read %s[%c0] : !tile.buffer<16x16> -> !tile.tile<16x16xf32>
    %sums = tile.dot %features, %old {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    tile.accumulate %features, %values, %s[%c0] bound %valid : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>, !tile.buffer<16x16>
    tile.store %sums, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
  }
}
