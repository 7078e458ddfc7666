// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s
// RUN: not polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=shared-bytes=0 2>&1 | FileCheck %s --check-prefix=FULL

// The two CTAs of a cluster have a half of the terms each: what they add up to. Accumulators are
// shown in shared memory between two barriers of the cluster, and so are vectors.

// CHECK: gpu.func @halves(
// CHECK-SAME: warp.cluster = 2 : i64
// CHECK: %[[RANK:.*]] = warp.cluster_rank
// CHECK: warp.mma_sync <bf16>
// CHECK: warp.store_shared %{{.*}} : vector<2xf32>
// CHECK: warp.cluster_barrier
// CHECK: %[[NEXT:.*]] = arith.addi %[[RANK]], %c1_i32
// CHECK-NEXT: %[[OTHER:.*]] = arith.remui %[[NEXT]], %c2_i32
// CHECK: %[[THEIRS:.*]] = warp.load_cluster %{{.*}}, %[[OTHER]] : vector<2xf32>
// CHECK: arith.addf
// CHECK-NOT: warp.barrier
// CHECK: warp.cluster_barrier
// CHECK: warp.cluster_barrier
// CHECK: warp.load_cluster %{{.*}} : f32
// CHECK: warp.cluster_barrier
// The first of them stores.
// CHECK: scf.if
// CHECK: warp.store_global
// CHECK-NOT: warp.cluster_barrier

// FULL: error: shared memory is too small for the sums of a cluster

tile.kernel @halves programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["a", "b", "o", "z"], num_inputs = 2, cluster = 2} {
^bb0(%a: memref<?x?x?x32xbf16>, %b: memref<?x?x?x32xbf16>, %o: memref<?x?x?x32xf32>, %z: memref<?x?x?x1xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %rank = tile.cluster_rank : index
  %begin = arith.muli %rank, %c16 : index
  %lhs = tile.load %a[%batch, %c0, %head, %begin] {row_dim = 1, col_dim = 3} : memref<?x?x?x32xbf16> -> !tile.tile<64x16xf32>
  %rhs = tile.load %b[%batch, %begin, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x32xbf16> -> !tile.tile<16x32xf32>
  %part = tile.dot %lhs, %rhs : !tile.tile<64x16xf32>, !tile.tile<16x32xf32> -> !tile.tile<64x32xf32>
  %sum = tile.cluster_sum %part : !tile.tile<64x32xf32>
  %rows = tile.reduce <add> <columns> %lhs : !tile.tile<64x16xf32> -> !tile.tile<64x1xf32>
  %column = tile.cluster_sum %rows : !tile.tile<64x1xf32>
  %first = arith.cmpi eq, %rank, %c0 : index
  scf.if %first {
    tile.store %sum, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x32xf32>, memref<?x?x?x32xf32>
    tile.store %column, %z[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x1xf32>, memref<?x?x?x1xf32>
  }
}
