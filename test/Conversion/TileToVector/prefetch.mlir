// RUN: polyattn-opt %s --tile-prefetch --tile-to-vector | FileCheck %s
// The product of one block fetches the rows of the next block and of its result: with each iteration of
// its loop a line of either, one row below the line before.

#m = strided<[?, ?, ?, 1], offset: ?>

// CHECK-LABEL: func.func @blocks
// CHECK: scf.for {{.*}} -> (vector<16xf32>,
// CHECK-COUNT-16: vector.fma
// CHECK: "llvm.intr.prefetch"(%[[RESULT:.*]]) <{{.*}}hint = 2 : i32, rw = 1
// CHECK-NEXT: %[[BELOW:.*]] = llvm.getelementptr %[[RESULT]][%{{.*}}]
// CHECK-NEXT: %[[NEXT:.*]] = llvm.intr.launder.invariant.group %[[BELOW]]
// CHECK: "llvm.intr.prefetch"(%{{.*}}) <{{.*}}hint = 2 : i32, rw = 0
// CHECK: scf.yield {{.*}}, %[[NEXT]], %{{.*}} : vector<16xf32>
// CHECK-NOT: llvm.intr.prefetch
tile.kernel @blocks programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["a", "b", "o"], num_inputs = 2} {
^bb0(%a: memref<?x?x?x64xf32, #m>, %b: memref<?x?x?x64xf32, #m>, %o: memref<?x?x?x64xf32, #m>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %a, %c1 : memref<?x?x?x64xf32, #m>
  %bt = tile.load %b[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x64xf32>
  scf.for %i = %c0 to %n step %c64 {
    %at = tile.load %a[%batch, %i, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x64xf32>
    %r = tile.dot %at, %bt : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    tile.store %r, %o[%batch, %i, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32, #m>
  }
}

// What goes backwards through its positions fetches rows before those at hand, from where their place is known on:
// the start of the body.
// CHECK-LABEL: func.func @backwards
// CHECK: %[[BEFORE:.*]] = arith.constant -64 : i64
// CHECK: scf.for
// CHECK: scf.for %[[OFFSET:.*]] = %{{.*}} to %[[END:.*]] step %c64 {
// CHECK: %[[BEHIND:.*]] = arith.subi %[[END]], %[[OFFSET]]
// CHECK: arith.subi %[[BEHIND]], %c64
// CHECK: arith.muli %{{.*}}, %[[BEFORE]]
// CHECK-COUNT-16: vector.fma
// CHECK: "llvm.intr.prefetch"
tile.kernel @backwards programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["a", "b", "o"], num_inputs = 2} {
^bb0(%a: memref<?x?x?x64xf32, #m>, %b: memref<?x?x?x64xf32, #m>, %o: memref<?x?x?x64xf32, #m>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %a, %c1 : memref<?x?x?x64xf32, #m>
  %bt = tile.load %b[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x64xf32>
  scf.for %i = %c0 to %n step %c64 {
    %behind = arith.subi %n, %i : index
    %first = arith.subi %behind, %c64 : index
    %at = tile.load %a[%batch, %first, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x64xf32>
    %r = tile.dot %at, %bt : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    tile.store %r, %o[%batch, %first, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32, #m>
  }
}
