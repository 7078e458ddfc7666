// RUN: polyattn-opt %s -split-input-file -verify-diagnostics
// What is read of a buffer is the value of the moment, and lowerings read it where it is used: no write
// to these rows comes between.

tile.kernel @written_between attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<4x4xf32>, %o: memref<4x4xf32>):
  %c0 = arith.constant 0 : index
  %new = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  %buffer = tile.buffer : !tile.buffer<8x4>
  // expected-note @below {{read here}}
  %old = tile.read %buffer[%c0] : !tile.buffer<8x4> -> !tile.tile<4x4xf32>
  // expected-note @below {{written here}}
  tile.write %new, %buffer[%c0] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
  // expected-error @below {{uses rows of a buffer that are written after they were read}}
  tile.store %old, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<4x4xf32>
}

// -----

// A view of the rows is read where that is used.
tile.kernel @view attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<4x4xf32>, %o: memref<4x4xf32>):
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %new = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  %buffer = tile.buffer : !tile.buffer<8x4>
  // expected-note @below {{read here}}
  %old = tile.read %buffer[%c0] : !tile.buffer<8x4> -> !tile.tile<4x4xf32>
  %turned = tile.transpose %old : !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  // expected-note @below {{written here}}
  tile.accumulate %new, %new, %buffer[%c2] : !tile.tile<4x4xf32>, !tile.tile<4x4xf32>, !tile.buffer<8x4>
  // expected-error @below {{uses rows of a buffer that are written after they were read}}
  tile.store %turned, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<4x4xf32>
}

// -----

// The first iteration writes what the second one uses.
tile.kernel @next_turn attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<4x4xf32>, %o: memref<4x4xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %new = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  %buffer = tile.buffer : !tile.buffer<8x4>
  // expected-note @below {{read here}}
  %old = tile.read %buffer[%c0] : !tile.buffer<8x4> -> !tile.tile<4x4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    // expected-error @below {{uses rows of a buffer that are written after they were read}}
    tile.store %old, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<4x4xf32>
    // expected-note @below {{written here}}
    tile.write %new, %buffer[%i] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
  }
}

// -----

// Other rows, another buffer, a write behind the last use, a value that a loop begins with, and two
// branches of which only one runs.
tile.kernel @allowed programs [dim(0, 0)] attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<4x4xf32>, %o: memref<4x4xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %new = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  %buffer = tile.buffer : !tile.buffer<8x4>
  %other = tile.buffer : !tile.buffer<8x4>
  %old = tile.read %buffer[%c0] : !tile.buffer<8x4> -> !tile.tile<4x4xf32>
  tile.write %new, %buffer[%c4] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
  tile.write %new, %other[%c0] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
  %carried = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %old) -> (!tile.tile<4x4xf32>) {
    tile.write %new, %buffer[%c0] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
    scf.yield %sum : !tile.tile<4x4xf32>
  }
  %again = tile.read %buffer[%c0] : !tile.buffer<8x4> -> !tile.tile<4x4xf32>
  %isFirst = arith.cmpi eq, %batch, %c0 : index
  scf.if %isFirst {
    tile.write %new, %buffer[%c0] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
  } else {
    tile.store %again, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<4x4xf32>
  }
  tile.write %carried, %buffer[%c0] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
}
