// RUN: polyattn-opt %s --tile-to-vector | FileCheck %s
// RUN: polyattn-opt %s --tile-to-vector --polyattn-vector-to-llvm-pipeline | FileCheck %s --check-prefix=LLVM
// The function around the programs: descriptors, program numbers, heads.

#row = strided<[?, ?, ?, 1], offset: ?>

// CHECK-LABEL: func.func @copy(
// CHECK-SAME: %[[TENSORS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK-SAME: polyattn.scratch_bytes = {{[0-9]+}} : i64
// CHECK: scf.for %[[P:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[H:.*]] = arith.maxsi
// CHECK: %[[HKV:.*]] = arith.maxsi
// CHECK: arith.divui %[[P]], %[[H]]
// CHECK: %[[HEAD:.*]] = arith.remui %[[P]], %[[H]]
// CHECK: arith.divui %[[H]], %[[HKV]]
// CHECK: arith.divui %[[HEAD]]
// CHECK-NOT: tile.
// LLVM-LABEL: llvm.func @copy(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// LLVM-NOT: unrealized_conversion_cast
tile.kernel @copy attributes {arg_names = ["q", "k", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x64xf32, #row>, %k: memref<?x?x?x64xf32, #row>, %o: memref<?x?x?x64xf32, #row>,
     %batch: index, %head: index, %kv_head: index, %group: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %length = memref.dim %q, %c1 : memref<?x?x?x64xf32, #row>
  %x = tile.load %k[%batch, %c0, %kv_head, %c0] valid %length {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #row> -> !tile.tile<16x64xf32>
  tile.store %x, %o[%batch, %c0, %head, %c0] valid %length {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32, #row>
}

// CHECK-LABEL: func.func @interleaved
// CHECK: %[[HEADS:.*]] = arith.maxsi
// CHECK: %[[KEYS:.*]] = arith.maxsi
// CHECK: %[[QHEAD:.*]] = arith.remui %{{.*}}, %[[HEADS]]
// CHECK: arith.remui %[[QHEAD]], %[[KEYS]]
tile.kernel @interleaved attributes {arg_names = ["q", "o"], grouping = "interleaved", num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf32, #row>, %o: memref<?x?x?x64xf32, #row>,
     %batch: index, %head: index, %kv_head: index, %group: index):
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %kv_head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #row> -> !tile.tile<16x64xf32>
  tile.store %x, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32, #row>
}

// Programs of one segment after another: segment, batch, head.
// CHECK-LABEL: func.func @segments
// CHECK: scf.for %[[P:.*]] = %{{.*}} to
// CHECK: %[[H:.*]] = arith.maxsi
// CHECK: arith.maxsi
// CHECK: %[[B:.*]] = arith.maxsi
// CHECK: %[[PROGRAMS:.*]] = arith.muli %[[B]], %[[H]]
// CHECK: %[[SEGMENT:.*]] = arith.divui %[[P]], %[[PROGRAMS]]
// CHECK: %[[REST:.*]] = arith.remui %[[P]], %[[PROGRAMS]]
// CHECK: arith.divui %[[REST]], %[[H]]
// CHECK: arith.remui %[[REST]], %[[H]]
tile.kernel @segments attributes {arg_names = ["q", "o"], num_inputs = 1, query_tensor = 0, key_tensor = 0, segments = 0} {
^bb0(%q: memref<?x?x?x64xf32, #row>, %o: memref<?x?x?x64xf32, #row>,
     %batch: index, %head: index, %kv_head: index, %group: index, %segment: index):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %position = arith.muli %segment, %c16 : index
  %x = tile.load %q[%batch, %position, %kv_head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #row> -> !tile.tile<16x64xf32>
  tile.store %x, %o[%batch, %position, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32, #row>
}
