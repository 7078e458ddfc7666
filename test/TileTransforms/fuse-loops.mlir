// RUN: polyattn-opt %s --tile-fuse-loops --cse | FileCheck %s
// RUN: polyattn-opt %s --tile-fuse-loops=carried=512 --cse | FileCheck %s
// RUN: polyattn-opt %s --tile-fuse-loops=carried=511 --cse | FileCheck %s --check-prefix=FEW

// Loops over the same blocks that compute an equal product are one loop, and the product is computed once. What the
// second loop needs moves before it.

// FEW-LABEL: tile.kernel @products
// FEW: scf.for
// FEW: scf.for

// CHECK-LABEL: tile.kernel @products
//       CHECK: %[[ZERO:.*]] = {{.*}}constant 0.0
//       CHECK: %[[SUMS:.*]]:2 = scf.for
//       CHECK:   dot
//       CHECK:   dot
//       CHECK:   dot
//   CHECK-NOT:   dot
//       CHECK:   yield
//   CHECK-NOT: scf.for
tile.kernel @products programs [dim(0, 0)] attributes {arg_names = ["k", "o"], num_inputs = 1 : i64} {
^bb0(%k: memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x16x16xf32, strided<[?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %b = tile.program_id 0 : index
  %q = tile.load %k[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
  %none = tile.constant 0.0 : !tile.tile<16x16xf32>
  %first = scf.for %i = %c0 to %c64 step %c16 iter_args(%sum = %none) -> (!tile.tile<16x16xf32>) {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %q, %x : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    %e = tile.map %s : !tile.tile<16x16xf32> -> <16x16xf32> {
    ^bb0(%a: f32):
      %y = arith.mulf %a, %a : f32
      tile.yield %y : f32
    }
    %next = tile.dot %e, %x acc %sum : !tile.tile<16x16xf32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  tile.store %first, %o[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : <16x16xf32>, memref<?x16x16xf32, strided<[?, ?, 1], offset: ?>>
  %one = tile.constant 1.0 : !tile.tile<16x16xf32>
  %second = scf.for %i = %c0 to %c64 step %c16 iter_args(%sum = %one) -> (!tile.tile<16x16xf32>) {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %q, %x : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    %next = tile.dot %s, %x acc %sum : !tile.tile<16x16xf32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  tile.store %second, %o[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : <16x16xf32>, memref<?x16x16xf32, strided<[?, ?, 1], offset: ?>>
}

// A loop that needs the other one's sums stays behind it.

// CHECK-LABEL: tile.kernel @needs
//       CHECK: scf.for
//       CHECK: scf.for
tile.kernel @needs programs [dim(0, 0)] attributes {arg_names = ["k", "o"], num_inputs = 1 : i64} {
^bb0(%k: memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x16x16xf32, strided<[?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %b = tile.program_id 0 : index
  %none = tile.constant 0.0 : !tile.tile<16x16xf32>
  %first = scf.for %i = %c0 to %c64 step %c16 iter_args(%sum = %none) -> (!tile.tile<16x16xf32>) {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %x, %x : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    %next = tile.dot %s, %x acc %sum : !tile.tile<16x16xf32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  %turned = tile.transpose %first : <16x16xf32> -> <16x16xf32>
  %second = scf.for %i = %c0 to %c64 step %c16 iter_args(%sum = %turned) -> (!tile.tile<16x16xf32>) {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %x, %x : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    %next = tile.dot %s, %x acc %sum : !tile.tile<16x16xf32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  tile.store %second, %o[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : <16x16xf32>, memref<?x16x16xf32, strided<[?, ?, 1], offset: ?>>
}

// So do loops that read what the first one writes, that have other bounds, or that share nothing.

// CHECK-LABEL: tile.kernel @apart
//       CHECK: scf.for
//       CHECK: scf.for
//       CHECK: scf.for
//       CHECK: scf.for
tile.kernel @apart programs [dim(0, 0)] attributes {arg_names = ["k", "o"], num_inputs = 1 : i64} {
^bb0(%k: memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>>, %o: memref<?x16x16xf32, strided<[?, ?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %b = tile.program_id 0 : index
  %state = tile.buffer : <16x16>
  scf.for %i = %c0 to %c64 step %c16 {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %x, %x : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    tile.accumulate %s, %x, %state[%c0] : <16x16xf32>, <16x16xf32>, <16x16>
  }
  scf.for %i = %c0 to %c64 step %c16 {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %x, %x : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    %r = tile.read %state[%c0] : <16x16> -> <16x16xf32>
    %p = tile.dot %s, %r : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    tile.store %p, %o[%b, %c0, %c0] {row_dim = 1, col_dim = 2} : <16x16xf32>, memref<?x16x16xf32, strided<[?, ?, 1], offset: ?>>
  }
  scf.for %i = %c0 to %c48 step %c16 {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %x, %x : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    tile.accumulate %s, %x, %state[%c0] : <16x16xf32>, <16x16xf32>, <16x16>
  }
  %other = tile.buffer : <16x16>
  scf.for %i = %c0 to %c64 step %c16 {
    %x = tile.load %k[%b, %i, %c0] {row_dim = 1, col_dim = 2} : memref<?x64x16xf32, strided<[?, ?, 1], offset: ?>> -> <16x16xf32>
    %s = tile.dot %x, %x {lower} : <16x16xf32>, <16x16xf32> -> <16x16xf32>
    tile.accumulate %s, %x, %other[%c0] : <16x16xf32>, <16x16xf32>, <16x16>
  }
}
