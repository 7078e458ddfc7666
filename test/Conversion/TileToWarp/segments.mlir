// RUN: polyattn-opt %s --tile-to-warp --canonicalize --cse | FileCheck %s

// The programs of one segment follow those of another; within one, a program is a batch and a head.
// What a launcher must bring along and know stays in the entry, and not in the function.

// CHECK: gpu.func @cut(
// CHECK-NOT: warp.programs
// CHECK-DAG: %[[PROGRAM:.*]] = warp.program_id
// CHECK-DAG: %[[BATCHES:.*]] = arith.trunci %arg1
// CHECK-DAG: %[[HEADS:.*]] = arith.trunci %arg3
// CHECK: %[[PER_SEGMENT:.*]] = arith.muli %[[BATCHES]], %[[HEADS]]
// CHECK: %[[SEGMENT:.*]] = arith.divui %[[PROGRAM]], %[[PER_SEGMENT]]
// CHECK: %[[REST:.*]] = arith.remui %[[PROGRAM]], %[[PER_SEGMENT]]
// CHECK: arith.divui %[[REST]], %[[HEADS]]
// CHECK: arith.index_cast %[[SEGMENT]]
tile.kernel @cut programs [segments - 1, dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "o", "h"], num_inputs = 1} {
^bb0(%x: memref<?x?x?x16xf32>, %o: memref<?x?x?x16xf32>, %h: memref<?x?x16xf32>):
  %segment = tile.program_id 0 : index
  %batch = tile.program_id 1 : index
  %head = tile.program_id 2 : index
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%batch, %segment, %head, %c0] {row_dim = -1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<1x16xf32>
  tile.store %t, %h[%segment, %batch, %c0] {row_dim = -1, col_dim = 2} : !tile.tile<1x16xf32>, memref<?x?x16xf32>
}

// CHECK: tile.entry @entry tensors 2 inputs 1 {
// CHECK: tile.stage @cut programs [segments - 1, dim(0, 0), dim(0, 2)] uses [@h]
tile.entry @entry tensors 2 inputs 1 {
  tile.workspace @h : f32 [segments - 1, dim(0, 0), 16]
  tile.stage @cut programs [segments - 1, dim(0, 0), dim(0, 2)] uses [@h]
  tile.choose segments of dim(0, 1) {block = 64, min_positions = 0, multiple = 64, prefix_cost_percent = 40, subsegments = 1}
}
