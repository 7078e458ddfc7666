// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s

// Scores P, zero above their diagonal, times values V. Of four warps two have rows 32 to 63, which see all of the
// 32 terms before: these are multiplied in pairs of fragments.

// CHECK-LABEL: gpu.func @triangle(
// CHECK: scf.for %{{.*}} = %c0_i32 to %[[ROW:.*]] step %c32_i32
// CHECK-COUNT-16: warp.mma_sync <bf16>
// CHECK-NOT: warp.mma_sync
// CHECK: scf.yield
// At the diagonal, V's fragments lose what is NaN or infinite. The second one is above the upper 16 rows.
// CHECK: arith.xori
// CHECK-NOT: scf.
// CHECK-COUNT-12: warp.mma_sync <bf16>
// CHECK-NOT: warp.mma_sync
// Where a lane has seen such a value, the warp adds it to the rows that see it.
// CHECK: %[[BAD:.*]] = warp.any
// CHECK: scf.if %[[BAD]]
// CHECK: scf.for %{{.*}} = %[[ROW]] to
// CHECK-NOT: warp.mma_sync
// CHECK: warp.store_global

tile.kernel @triangle programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["p", "v", "o"], num_inputs = 2} {
^bb0(%p: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %all = tile.load %p[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
  %lower = tile.causal_mask %all : !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %values = tile.load %v[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
  %sum = tile.dot %lower, %values {lower_lhs} : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %sum, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xbf16>
}
