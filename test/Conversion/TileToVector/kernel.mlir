// RUN: polyattn-opt %s --tile-to-vector | FileCheck %s
// RUN: polyattn-opt %s --tile-to-vector --polyattn-vector-to-llvm-pipeline | FileCheck %s --check-prefix=LLVM
// The function around the programs: descriptors, program numbers, heads.

#row = strided<[?, ?, ?, 1], offset: ?>

// CHECK-LABEL: func.func @copy(
// CHECK-SAME: %[[TENSORS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK-SAME: tile.scratch_bytes = {{[0-9]+}} : i64
// CHECK: scf.for %[[P:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[H:.*]] = arith.maxsi
// CHECK: arith.divui %[[P]], %[[H]]
// CHECK: %[[HEAD:.*]] = arith.remui %[[P]], %[[H]]
// CHECK-NOT: tile.
// LLVM-LABEL: llvm.func @copy(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// LLVM-NOT: unrealized_conversion_cast
tile.kernel @copy programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "k", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x64xf32, #row>, %k: memref<?x?x?x64xf32, #row>, %o: memref<?x?x?x64xf32, #row>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %length = memref.dim %q, %c1 : memref<?x?x?x64xf32, #row>
  %x = tile.load %k[%batch, %c0, %head, %c0] valid %length {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #row> -> !tile.tile<16x64xf32>
  tile.store %x, %o[%batch, %c0, %head, %c0] valid %length {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32, #row>
}

// What a kernel computes from its coordinates is arithmetic like any other.
// CHECK-LABEL: func.func @interleaved
// CHECK: %[[HEADS:.*]] = arith.maxsi
// CHECK: %[[QHEAD:.*]] = arith.remui %{{.*}}, %[[HEADS]]
// CHECK: %[[QINDEX:.*]] = arith.index_cast %[[QHEAD]]
// CHECK: arith.remui %[[QINDEX]], %{{.*}} : index
tile.kernel @interleaved programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf32, #row>, %o: memref<?x?x?x64xf32, #row>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %key_heads = memref.dim %o, %c2 : memref<?x?x?x64xf32, #row>
  %kv_head = arith.remui %head, %key_heads : index
  %x = tile.load %q[%batch, %c0, %kv_head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #row> -> !tile.tile<16x64xf32>
  tile.store %x, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32, #row>
}

// Programs of one segment after another: segment, batch, head.
// CHECK-LABEL: func.func @segments
// CHECK: scf.for %[[P:.*]] = %{{.*}} to
// CHECK: %[[H:.*]] = arith.maxsi
// CHECK: %[[B:.*]] = arith.maxsi
// CHECK: %[[PROGRAMS:.*]] = arith.muli %[[B]], %[[H]]
// CHECK: %[[SEGMENT:.*]] = arith.divui %[[P]], %[[PROGRAMS]]
// CHECK: %[[REST:.*]] = arith.remui %[[P]], %[[PROGRAMS]]
// CHECK: arith.divui %[[REST]], %[[H]]
// CHECK: arith.remui %[[REST]], %[[H]]
tile.kernel @segments programs [segments, dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf32, #row>, %o: memref<?x?x?x64xf32, #row>):
  %segment = tile.program_id 0 : index
  %batch = tile.program_id 1 : index
  %head = tile.program_id 2 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %position = arith.muli %segment, %c16 : index
  %x = tile.load %q[%batch, %position, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #row> -> !tile.tile<16x64xf32>
  tile.store %x, %o[%batch, %position, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32, #row>
}
