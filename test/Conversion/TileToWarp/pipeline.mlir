// RUN: polyattn-opt %s --split-input-file --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s
// RUN: polyattn-opt %s --split-input-file --tile-set-precision=tensor-cores --tile-to-warp=shared-bytes=2048 --canonicalize --cse | FileCheck %s --check-prefix=ONE
// RUN: polyattn-opt %s --split-input-file --tile-set-precision=tensor-cores --tile-to-warp=shared-bytes=8192 --canonicalize --cse | FileCheck %s --check-prefix=ONE
// RUN: polyattn-opt %s --split-input-file --tile-set-precision=tensor-cores --tile-to-warp=pipeline-copies=false --canonicalize --cse | FileCheck %s --check-prefix=ONE

// The copies of the first block start before the loop, if it has an iteration; those of the next block
// behind the barrier at which this one's are there, into the other stage. Products read the
// stage of their iteration. Nothing else waits.

// CHECK-LABEL: gpu.func @stages
// CHECK-SAME: #warp.resident<"block of k" : vector<16x16xbf16> in double_buffer>, #warp.resident<"block of v" : vector<16x16xbf16> in double_buffer>
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[N:.*]], %c0 : index
// CHECK: scf.if %[[ANY]]
// CHECK: warp.copy_async
// CHECK: warp.copy_async
// CHECK: warp.commit_copies
// CHECK-NOT: warp.wait_copies
// CHECK: scf.for %[[T:.*]] = %c0 to %[[N]] step %c16 iter_args(%[[STAGE:.*]] = %c0_i32) -> (i32) {
// CHECK-NEXT: warp.wait_copies 0
// CHECK-NEXT: warp.barrier
// CHECK: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[STAGE]] : i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[T]], %c16 : index
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]] : index
// CHECK: scf.if %[[MORE]] {
// CHECK: arith.addi %{{.*}}, %[[OTHER]] : i32
// CHECK: warp.copy_async
// CHECK: warp.store_shared
// CHECK: warp.commit_copies
// CHECK: %[[AFTER:.*]] = arith.subi %{{.*}}, %[[STAGE]] : i32
// CHECK-NOT: warp.wait_copies
// CHECK: arith.addi %{{.*}}, %[[STAGE]] : i32
// CHECK: warp.ldmatrix
// CHECK: warp.mma_sync
// CHECK-NOT: warp.wait_copies
// CHECK: scf.yield %[[AFTER]] : i32

// Where there is no place for both, or only that of a third CTA, copies are waited for in the iteration
// that starts them. A stage is two blocks of 16 x 16 bf16, half a KiB each and less than one with what keeps
// rows apart: 2 KiB have place for one stage, and 8 KiB for three CTAs with one each, but not with two.

// ONE-LABEL: gpu.func @stages
// ONE-NOT: in double_buffer
// ONE: scf.for
// ONE-NOT: warp.wait_copies
// ONE: warp.copy_async
// ONE: warp.copy_async
// ONE: warp.wait_copies 0
// ONE-NEXT: warp.barrier
// ONE: warp.mma_sync
tile.kernel @stages programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "v", "o"], num_inputs = 2} {
^bb0(%k: memref<?x?x?x16xbf16>, %v: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x16xbf16>
  scf.for %t = %c0 to %n step %c16 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c16 : index
    %keys = tile.load %k[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %values = tile.load %v[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %sums = tile.dot %keys, %values : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    tile.store %sums, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
  }
}

// -----

// What a map alone reads is copied ahead, too, where two CTAs have place for it; else its elements are loaded where
// products need them.

// CHECK-LABEL: gpu.func @mapped
// CHECK-SAME: #warp.resident<"block of k" : vector<16x16xbf16> in double_buffer>, #warp.resident<"block of v" : vector<16x16xbf16> in double_buffer>
// CHECK: scf.for
// CHECK-NEXT: warp.wait_copies 0
// CHECK-NEXT: warp.barrier
// CHECK: math.exp
// ONE-LABEL: gpu.func @mapped
// ONE-NOT: in double_buffer
// ONE: scf.for
// ONE: warp.load_global
// ONE: math.exp
tile.kernel @mapped programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "v", "o"], num_inputs = 2} {
^bb0(%k: memref<?x?x?x16xbf16>, %v: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x16xbf16>
  scf.for %t = %c0 to %n step %c16 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c16 : index
    %keys = tile.load %k[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %features = tile.map %keys : !tile.tile<16x16xf32> -> !tile.tile<16x16xf32> {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      tile.yield %y : f32
    }
    %values = tile.load %v[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %sums = tile.dot %features, %values : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    tile.store %sums, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
  }
}

// -----

// One number of each position is copied ahead element by element, as no row of such a tensor is aligned; what is behind
// the last position is zero.

// CHECK-LABEL: gpu.func @factors
// CHECK-SAME: %[[F:arg[0-9]+]]: !llvm.ptr<1> {warp.pointer = 1
// CHECK-SAME: #warp.resident<"block of f" : vector<1x16xf32> in double_buffer>
// CHECK: scf.for
// CHECK-NEXT: warp.wait_copies 0
// CHECK-NEXT: warp.barrier
// CHECK: %[[BYTES:.*]] = arith.select %{{.*}}, %c4_i32{{.*}}, %c0_i32{{.*}} : i32
// CHECK: warp.copy_async %[[F]][%{{.*}}], %{{.*}} bytes %[[BYTES]] element
// CHECK: warp.commit_copies
// CHECK: warp.mma_sync
// CHECK-NOT: warp.wait_copies
// CHECK: scf.yield
tile.kernel @factors programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "f", "o"], num_inputs = 2} {
^bb0(%k: memref<?x?x?x16xbf16>, %f: memref<?x?x?x2xf32>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x16xbf16>
  scf.for %t = %c0 to %n step %c16 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c16 : index
    %keys = tile.load %k[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %factor = tile.load %f[%batch, %t, %head, %c1] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x2xf32> -> !tile.tile<1x16xf32>
    %squares = tile.dot %keys, %keys : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    %scaled = tile.map %squares, %factor : !tile.tile<16x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<16x16xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      tile.yield %z : f32
    }
    %sums = tile.dot %scaled, %keys : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    tile.store %sums, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
  }
}

// -----

// What stays for all iterations, what the kernel writes, and what an iteration decides for the next one.

// CHECK-LABEL: gpu.func @not_ahead
// CHECK-NOT: "double buffer"
// CHECK: scf.for
// CHECK-NOT: warp.wait_copies
// CHECK: warp.copy_async
// CHECK: warp.copy_async
// CHECK: warp.copy_async
// CHECK: warp.wait_copies 0
tile.kernel @not_ahead programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "v", "o"], num_inputs = 2} {
^bb0(%k: memref<?x?x?x16xbf16>, %v: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x16xbf16>
  %last = scf.for %t = %c0 to %n step %c16 iter_args(%from = %c0) -> index {
    %same = tile.load %k[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %before = tile.load %o[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %values = tile.load %v[%batch, %from, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    %first = tile.dot %same, %before : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    %sums = tile.dot %same, %values acc %first : !tile.tile<16x16xf32> : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    tile.store %sums, %o[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xbf16>
    %next = arith.addi %from, %t : index
    scf.yield %next : index
  }
}

// -----

// Only the inner one of two loops.

// CHECK-LABEL: gpu.func @nested
// CHECK-SAME: warp.memory = [#warp.resident<"block of k" : vector<16x32xbf16> in double_buffer>]
tile.kernel @nested programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "k", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x16xbf16>, %k: memref<?x?x?x16xbf16>, %o: memref<?x?x?x32xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x16xbf16>
  scf.for %t = %c0 to %n step %c16 {
    %queries = tile.load %q[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
    scf.for %u = %c0 to %n step %c32 {
      %keys = tile.load %k[%batch, %u, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x16xbf16> -> !tile.tile<16x32xf32>
      %scores = tile.dot %queries, %keys : !tile.tile<16x16xf32>, !tile.tile<16x32xf32> -> !tile.tile<16x32xf32>
      tile.store %scores, %o[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x32xf32>, memref<?x?x?x32xbf16>
    }
  }
}
