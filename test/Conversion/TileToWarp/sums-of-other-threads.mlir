// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s

// Two sums into one buffer of 32 rows. Their matrices lie in other directions, so that one row is
// summed by neighbouring lanes in the first and by lanes that are far apart in the second: other
// threads write it, and meet before.
// CHECK: gpu.func @two_sums(
// CHECK: scf.for
// CHECK: warp.shuffle
// CHECK: warp.load_shared %[[FIRST:.*]] : f32
// CHECK: warp.store_shared %{{.*}}, %[[FIRST]] : f32
// CHECK: warp.barrier
// CHECK: scf.for
// CHECK: warp.shuffle
// CHECK: warp.load_shared %[[SECOND:.*]] : f32
// CHECK: warp.store_shared %{{.*}}, %[[SECOND]] : f32
tile.kernel @two_sums programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<?x?x?x32xf32>, %o: memref<32xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %sums = tile.buffer : !tile.buffer<32x1>
  %ones = tile.constant 1.0 : !tile.tile<64x1xf32>
  %columns = tile.load %x[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x32xf32> -> !tile.tile<32x64xf32>
  %lying = tile.load %x[%batch, %c0, %head, %c0] {row_dim = 3, col_dim = 1} : memref<?x?x?x32xf32> -> !tile.tile<32x64xf32>
  tile.accumulate %columns, %ones, %sums[%c0] : !tile.tile<32x64xf32>, !tile.tile<64x1xf32>, !tile.buffer<32x1>
  tile.accumulate %lying, %ones, %sums[%c0] : !tile.tile<32x64xf32>, !tile.tile<64x1xf32>, !tile.buffer<32x1>
  %all = tile.read %sums[%c0] : !tile.buffer<32x1> -> !tile.tile<32x1xf32>
  tile.store %all, %o[%c0] {row_dim = 0, col_dim = -1} : !tile.tile<32x1xf32>, memref<32xf32>
}
