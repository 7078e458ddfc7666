// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s
// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp=shared-bytes=9216 --canonicalize --cse | FileCheck %s --check-prefix=SMALL

// States and normalizers that an earlier kernel has written are copied ahead, as inputs are. A vector of
// elements that lie together is one line of copies. Nothing waits for device memory in the loop but at
// its first barrier.

// CHECK-LABEL: gpu.func @states
// CHECK-SAME: #warp.resident<"block of normalizers" : vector<32x1xf32> in double_buffer>, #warp.resident<"block of states" : vector<32x16xbf16> in double_buffer>
// CHECK: scf.for
// CHECK-NEXT: warp.wait_copies 0
// CHECK-NEXT: warp.barrier
// CHECK: warp.copy_async
// CHECK: warp.copy_async
// CHECK: warp.copy_async
// CHECK: warp.commit_copies
// CHECK: warp.mma_sync
// CHECK-NOT: warp.wait_copies
// CHECK: scf.yield
tile.kernel @states programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o", "states", "normalizers"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>, %states: memref<?x?x?x128x16xbf16>, %normalizers: memref<?x?x?x128xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = tile.constant 0.0 : !tile.tile<16x16xf32>
  %none = tile.constant 0.0 : !tile.tile<1x16xf32>
  %all:2 = scf.for %f = %c0 to %c128 step %c32 iter_args(%o0 = %zero, %n0 = %none) -> (!tile.tile<16x16xf32>, !tile.tile<1x16xf32>) {
    %features = tile.load %q[%batch, %f, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<32x16xf32>
    %normalizer = tile.load %normalizers[%c0, %batch, %head, %f] {row_dim = 3, col_dim = -1} : memref<?x?x?x128xf32> -> !tile.tile<32x1xf32>
    %state = tile.load %states[%c0, %batch, %head, %f, %c0] {row_dim = 3, col_dim = 4} : memref<?x?x?x128x16xbf16> -> !tile.tile<32x16xf32>
    %o1 = tile.dot %features, %state acc %o0 : !tile.tile<16x16xf32> {lhs_transposed} : !tile.tile<32x16xf32>, !tile.tile<32x16xf32> -> !tile.tile<16x16xf32>
    %n1 = tile.dot %normalizer, %features acc %n0 : !tile.tile<1x16xf32> {lhs_transposed} : !tile.tile<32x1xf32>, !tile.tile<32x16xf32> -> !tile.tile<1x16xf32>
    scf.yield %o1, %n1 : !tile.tile<16x16xf32>, !tile.tile<1x16xf32>
  }
  tile.store %all#0, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
}

// Each loop has a double buffer if it finds place for one: with little memory the first loop alone, whose blocks are
// small. One that is there for a branch has no second iteration.

// CHECK-LABEL: gpu.func @loops
// CHECK-SAME: #warp.resident<"block of q" : vector<16x16xbf16> in double_buffer>
// CHECK-SAME: #warp.resident<"block of k" : vector<64x16xbf16> in double_buffer>
// CHECK-NOT: #warp.resident<"block of v"
// SMALL-LABEL: gpu.func @loops
// SMALL-SAME: #warp.resident<"block of q" : vector<16x16xbf16> in double_buffer>
// SMALL-NOT: double_buffer
tile.kernel @loops programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "k", "v", "o"], num_inputs = 3} {
^bb0(%q: memref<?x?x?x16xbf16>, %k: memref<?x?x?x16xbf16>, %v: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %q, %c1 : memref<?x?x?x16xbf16>
  %zero = tile.constant 0.0 : !tile.tile<16x16xf32>
  %first = scf.for %t = %c0 to %n step %c16 iter_args(%sum = %zero) -> (!tile.tile<16x16xf32>) {
    %queries = tile.load %q[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %next = tile.dot %queries, %queries acc %sum : !tile.tile<16x16xf32> {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  %second = scf.for %t = %c0 to %n step %c64 iter_args(%sum = %first) -> (!tile.tile<16x16xf32>) {
    %keys = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<64x16xf32>
    %next = tile.dot %keys, %keys acc %sum : !tile.tile<16x16xf32> {lhs_transposed} : !tile.tile<64x16xf32>, !tile.tile<64x16xf32> -> !tile.tile<16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  %long = arith.cmpi sgt, %n, %c64 : index
  %once = arith.select %long, %c16, %c0 : index
  %third = scf.for %t = %c0 to %once step %c16 iter_args(%sum = %second) -> (!tile.tile<16x16xf32>) {
    %values = tile.load %v[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %next = tile.dot %values, %values acc %sum : !tile.tile<16x16xf32> {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  tile.store %third, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
}
