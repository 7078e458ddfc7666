// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp | FileCheck %s

// A kernel has all tensors of its entry, and parameters for those that it reads or writes, or whose sizes say how many programs
// there are.

// CHECK: gpu.func @some(%{{[^:]*}}: !llvm.ptr<1> {warp.pointer = 0 : i64},
// CHECK-NOT: warp.pointer = 1
// CHECK-SAME: warp.pointer = 2 : i64
// CHECK-SAME: warp.size = [2, 0]
// CHECK-SAME: warp.pointer = 3 : i64
// CHECK-NOT: warp.pointer = 4
// CHECK-SAME: warp.workspace
// CHECK-SAME: warp.profile
tile.kernel @some programs [dim(2, 0), dim(2, 2)] attributes {arg_names = ["read", "unused", "counted", "written", "neither"], num_inputs = 3} {
^bb0(%read: memref<?x?x?x16xbf16>, %unused: memref<?x?x?x16xbf16>, %counted: memref<?x?x?x16xbf16>, %written: memref<?x?x?x16xbf16>,
     %neither: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %read[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  tile.store %x, %written[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
}
