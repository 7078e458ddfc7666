// RUN: polyattn-opt %s --tile-sink-loads | FileCheck %s

// Loads go into the branches that have their uses, as far in as these are together, each branch with
// its own.

// CHECK-LABEL: tile.kernel @branches
//   CHECK-NOT: load
//       CHECK: scf.if
//   CHECK-NOT:   load
//       CHECK:   scf.if
//  CHECK-NEXT:     %[[W:.*]] = {{.*}}load %w
//       CHECK:     store %[[W]]
//       CHECK:     store %[[W]]
//       CHECK: else
//  CHECK-NEXT:   %[[OWN:.*]] = {{.*}}load %w
//       CHECK:   scf.for
//       CHECK:     store %[[OWN]]
tile.kernel @branches programs [dim(0, 0)] attributes {arg_names = ["w", "o"], num_inputs = 1 : i64} {
^bb0(%w: memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %head = tile.program_id 0 : index
  %tile = tile.load %w[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>> -> <8x16xf32>
  %few = arith.cmpi slt, %head, %c4 : index
  scf.if %few {
    %none = arith.cmpi slt, %head, %c1 : index
    scf.if %none {
      tile.store %tile, %o[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : <8x16xf32>, memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>
      tile.store %tile, %o[%head, %c1, %c0] {row_dim = 1, col_dim = 2} : <8x16xf32>, memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>
    }
  } else {
    scf.for %i = %c0 to %c4 step %c1 {
      tile.store %tile, %o[%head, %i, %c0] {row_dim = 1, col_dim = 2} : <8x16xf32>, memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>
    }
  }
}

// What a loop needs is loaded before it, and what all programs load alike is done once for all.

// CHECK-LABEL: tile.kernel @stay
//       CHECK: load %w[%{{.*}}, %c0, %c0]
//       CHECK: load %w[%c0, %c0, %c0]
//       CHECK: scf.for
//   CHECK-NOT: load
//       CHECK: scf.if
//   CHECK-NOT: load
tile.kernel @stay programs [dim(0, 0)] attributes {arg_names = ["w", "o"], num_inputs = 1 : i64} {
^bb0(%w: memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %head = tile.program_id 0 : index
  %own = tile.load %w[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>> -> <8x16xf32>
  %shared = tile.load %w[%c0, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>> -> <8x16xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %few = arith.cmpi slt, %head, %i : index
    scf.if %few {
      tile.store %own, %o[%head, %i, %c0] {row_dim = 1, col_dim = 2} : <8x16xf32>, memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>
      tile.store %shared, %o[%head, %i, %c0] {row_dim = 1, col_dim = 2} : <8x16xf32>, memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>
    }
  }
}

// A result can live in an argument of its sizes, so that the old numbers are read before new ones
// are written. One of other sizes cannot.

// CHECK-LABEL: tile.kernel @behind_writes
//       CHECK: %[[OLD:.*]] = load %s
//       CHECK: store %{{.*}}, %new
//       CHECK: scf.if
//  CHECK-NEXT:   %[[W:.*]] = {{.*}}load %w
//       CHECK:   store %[[OLD]], %o
//       CHECK:   store %[[W]], %o
tile.kernel @behind_writes programs [dim(0, 0)] attributes {arg_names = ["s", "w", "new", "o"], num_inputs = 2 : i64} {
^bb0(%s: memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>>, %w: memref<?x4x16xf32, strided<[?, ?, 1], offset: ?>>,
     %new: memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %head = tile.program_id 0 : index
  %old = tile.load %s[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>> -> <8x16xf32>
  %weights = tile.load %w[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x4x16xf32, strided<[?, ?, 1], offset: ?>> -> <4x16xf32>
  %zero = tile.constant 0.0 : <8x16xf32>
  tile.store %zero, %new[%head, %c0, %c0] {row_dim = 1, col_dim = 2} : <8x16xf32>, memref<?x8x16xf32, strided<[?, ?, 1], offset: ?>>
  %few = arith.cmpi slt, %head, %c4 : index
  scf.if %few {
    tile.store %old, %o[%head, %c0, %c0, %c0] {row_dim = 2, col_dim = 3} : <8x16xf32>, memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
    tile.store %weights, %o[%head, %c1, %c0, %c0] {row_dim = 2, col_dim = 3} : <4x16xf32>, memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
  }
}
