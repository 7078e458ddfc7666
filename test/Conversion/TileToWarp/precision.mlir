// RUN: polyattn-opt %s --split-input-file --verify-diagnostics --tile-to-warp | FileCheck %s

// Tensor cores multiply what the products say, whatever the tensors hold.

// CHECK-LABEL: gpu.func @bf16_of_f32(
// CHECK: warp.mma_sync <bf16>
// CHECK-NOT: warp.mma_sync <tf32>
tile.kernel @bf16_of_f32 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32> -> !tile.tile<64x64xf32>
  %y = tile.dot %x, %x precision <bf16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %z = tile.dot %x, %x acc %y : !tile.tile<64x64xf32> precision <bf16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %z, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32>
}

// -----

// CHECK-LABEL: gpu.func @tf32_of_bf16(
// CHECK-COUNT-1: warp.mma_sync <tf32>
// CHECK-NOT: warp.mma_sync <bf16>
tile.kernel @tf32_of_bf16 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
  %y = tile.dot %x, %x precision <tf32> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %z = tile.dot %x, %x acc %y : !tile.tile<64x64xf32> precision <tf32> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %z, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32>
}

// -----

// Products of split factors are added to what there is by a rounding addition: tensor cores cut their sums off.

// CHECK-LABEL: gpu.func @split_tf32(
// CHECK: scf.for
// CHECK: %[[A0:.*]], %[[A1:.*]], %[[A2:.*]], %[[A3:.*]] = warp.mma_sync <tf32>{{.*}} (%[[ZERO:cst[_0-9]*]], %[[ZERO]], %[[ZERO]], %[[ZERO]])
// CHECK-NEXT: %[[B0:.*]], %[[B1:.*]], %[[B2:.*]], %[[B3:.*]] = warp.mma_sync <tf32>{{.*}} (%[[A0]], %[[A1]], %[[A2]], %[[A3]])
// CHECK-NEXT: %[[C0:.*]], %{{.*}}, %{{.*}}, %{{.*}} = warp.mma_sync <tf32>{{.*}} (%[[B0]], %[[B1]], %[[B2]], %[[B3]])
// CHECK-NEXT: arith.addf %{{.*}}, %[[C0]] : f32
tile.kernel @split_tf32 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32> -> !tile.tile<64x64xf32>
  %y = tile.dot %x, %x precision <split_tf32> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %y, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32>
}

// -----

tile.kernel @no_precision programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
  // expected-error @below {{tensor cores multiply matrices in bf16, tf32, split_bf16 or split_tf32, not in f32}}
  %y = tile.dot %x, %x : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %z = tile.dot %x, %x acc %y : !tile.tile<64x64xf32> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %z, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32>
}

// -----

// A tile in bf16 has no second bf16: of two such factors there is one product, beside one computed in f32 there are two, and of two
// of these three.

// CHECK-LABEL: gpu.func @split_bf16(
// CHECK-COUNT-1: warp.mma_sync <bf16>
// CHECK-NOT: warp.mma_sync
// CHECK: gpu.return
tile.kernel @split_bf16 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x16xbf16>, %o: memref<?x?x?x8xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %v = tile.slice %x[%c0, %c0] : !tile.tile<16x16xf32> -> !tile.tile<16x8xf32>
  %y = tile.dot %x, %v precision <split_bf16> : !tile.tile<16x16xf32>, !tile.tile<16x8xf32> -> !tile.tile<16x8xf32>
  tile.store %y, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
}

// -----

// CHECK-LABEL: gpu.func @split_bf16_of_one(
// CHECK: warp.ldmatrix
// CHECK: %[[A0:.*]], %[[A1:.*]], %[[A2:.*]], %[[A3:.*]] = warp.mma_sync <bf16>
// CHECK-NEXT: warp.mma_sync <bf16>{{.*}} (%[[A0]], %[[A1]], %[[A2]], %[[A3]])
// CHECK-NOT: warp.mma_sync
// CHECK: gpu.return
tile.kernel @split_bf16_of_one programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "v", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x16xbf16>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %w = tile.load %v[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xf32> -> !tile.tile<16x8xf32>
  %y = tile.dot %x, %w precision <split_bf16> : !tile.tile<16x16xf32>, !tile.tile<16x8xf32> -> !tile.tile<16x8xf32>
  tile.store %y, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
}

// -----

// CHECK-LABEL: gpu.func @split_bf16_of_two(
// CHECK: %[[A0:.*]], %[[A1:.*]], %[[A2:.*]], %[[A3:.*]] = warp.mma_sync <bf16>
// CHECK-NEXT: %[[B0:.*]], %[[B1:.*]], %[[B2:.*]], %[[B3:.*]] = warp.mma_sync <bf16>{{.*}} (%[[A0]], %[[A1]], %[[A2]], %[[A3]])
// CHECK-NEXT: warp.mma_sync <bf16>{{.*}} (%[[B0]], %[[B1]], %[[B2]], %[[B3]])
// CHECK-NOT: warp.mma_sync
// CHECK: gpu.return
tile.kernel @split_bf16_of_two programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "v", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x16xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<16x16xf32>
  %w = tile.load %v[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xf32> -> !tile.tile<16x8xf32>
  %y = tile.dot %x, %w precision <split_bf16> : !tile.tile<16x16xf32>, !tile.tile<16x8xf32> -> !tile.tile<16x8xf32>
  tile.store %y, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
}

// -----

tile.kernel @f16 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf16> -> !tile.tile<64x64xf32>
  // expected-error @below {{this lowering has no products in f16}}
  %y = tile.dot %x, %x precision <f16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %z = tile.dot %x, %x acc %y : !tile.tile<64x64xf32> precision <f16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %z, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32>
}

// -----

tile.kernel @two_precisions programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32> -> !tile.tile<64x64xf32>
  // expected-note @below {{the other product}}
  %y = tile.dot %x, %x precision <split_tf32> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  // expected-error @below {{multiplies in bf16 where another product of its kernel does in split_tf32}}
  %z = tile.dot %x, %x acc %y : !tile.tile<64x64xf32> precision <bf16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %z, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32>
}

// -----

tile.kernel @bf16_tile programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  // expected-error @below {{this lowering takes tiles of f32 or f64, not 'bf16'}}
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xbf16>
  tile.store %x, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xbf16>, memref<?x?x?x64xf32>
}
