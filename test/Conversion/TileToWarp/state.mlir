// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=pipeline-copies=false --canonicalize --cse | FileCheck %s
// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=shared-bytes=0 --canonicalize --cse | FileCheck %s --check-prefix=FULL
// RUN: not polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=warps=3 2>&1 | FileCheck %s --check-prefix=OPTION

// A state of 16 x 16 in shared memory: cleared, read by a product, updated by another. Tiles come
// by asynchronous copies where rows are aligned, by elements elsewhere. The first product waits for
// the keys alone: the values may still be on their way. Threads close a group of copies in either
// case.

// CHECK: gpu.func @state(%{{.*}}: !llvm.ptr<1> {warp.pointer = 0 : i64}, %{{.*}}: i64 {warp.size = [0, 0]},
// CHECK-SAME: %{{[a-z0-9]*}}: !llvm.ptr<1> {warp.workspace}, %{{.*}}: !llvm.ptr<1> {warp.profile}) kernel
// CHECK-SAME: warp.memory = [#warp.resident<"state" : vector<16x16xf32> in shared>, #warp.resident<"state for products" : vector<16x16xbf16> in shared>]
// CHECK-SAME: warp.programs = {{\[\[}}0, 0], [0, 2]]
// CHECK-SAME: warp.shared_bytes = {{[0-9]+}} : i64, warp.threads = 128 : i64, warp.workspace_bytes = 0 : i64
// CHECK: warp.store_shared %{{.*}} : vector<4xf32>
// CHECK: scf.for
// CHECK: warp.barrier
// CHECK: scf.if
// CHECK: warp.copy_async
// CHECK: } else {
// CHECK: warp.load_global %{{.*}} {read_only} : i16
// CHECK: warp.commit_copies
// CHECK: scf.if
// CHECK: warp.copy_async
// CHECK: warp.commit_copies
// CHECK-NEXT: warp.wait_copies 1
// CHECK-NEXT: warp.barrier
// The keys lie as in the tensor, which makes them A without a transposition of O = phi S.
// CHECK: warp.ldmatrix %{{[0-9a-z_]*}} : i32, i32, i32, i32
// CHECK: warp.mma_sync <bf16>
// CHECK: warp.wait_copies 0
// CHECK-NEXT: warp.barrier
// The same keys from the side of S + phi V: those past the end are zeros.
// CHECK: warp.ldmatrix %{{.*}} {transposed} : i32, i32, i32, i32
// CHECK-NOT: arith.andi
// CHECK: warp.mma_sync <bf16>
// CHECK: warp.store_shared %{{.*}} : vector<2xf32>
// CHECK: warp.store_global

// Without shared memory everything lies in the workspace.
// FULL: warp.memory = [#warp.resident<"state" : vector<16x16xf32> in workspace>]
// FULL-SAME: warp.shared_bytes = 0 : i64
// FULL-NOT: warp.store_shared
// FULL-NOT: warp.ldmatrix
// FULL: warp.mma_sync

// OPTION: error: warps must be a power of two from 1 to 16, or 0 for a choice, and shared-bytes not negative; got 3 and 166912
tile.kernel @state programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "v", "o"], num_inputs = 2} {
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
    %old = tile.read %s[%c0] : !tile.buffer<16x16> -> !tile.tile<16x16xf32>
    %sums = tile.dot %phi, %old {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    tile.accumulate %phi, %values, %s[%c0] bound %valid : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>, !tile.buffer<16x16>
    tile.store %sums, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
  }
}
