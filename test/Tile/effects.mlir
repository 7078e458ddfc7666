// RUN: polyattn-opt %s --cse --canonicalize | FileCheck %s

// Two reads of rows that nothing writes between are one.
// CHECK-LABEL: tile.kernel @reads
// CHECK: %[[B:.*]] = buffer : <4x4>
// CHECK: %[[X:.*]] = read %[[B]]
// CHECK-NEXT: dot %[[X]], %[[X]]
// CHECK-NOT: read
tile.kernel @reads attributes {arg_names = ["o"], num_inputs = 0} {
^bb0(%o: memref<4x4xf32>):
  %c0 = arith.constant 0 : index
  %b = tile.buffer : !tile.buffer<4x4>
  %x = tile.read %b[%c0] : !tile.buffer<4x4> -> !tile.tile<4x4xf32>
  %y = tile.read %b[%c0] : !tile.buffer<4x4> -> !tile.tile<4x4xf32>
  %z = tile.dot %x, %y : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  tile.store %z, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<4x4xf32>
}

// A write or an update between them makes two of them.
// CHECK-LABEL: tile.kernel @writes
// CHECK: %[[A:.*]] = read
// CHECK: store %[[A]]
// CHECK: accumulate
// CHECK: %[[B:.*]] = read
// CHECK: store %[[B]]
// CHECK: write
// CHECK: %[[C:.*]] = read
// CHECK: store %[[C]]
tile.kernel @writes attributes {arg_names = ["o"], num_inputs = 0} {
^bb0(%o: memref<12x4xf32>):
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %one = tile.constant 1.0 : !tile.tile<4x4xf32>
  %s = tile.buffer : !tile.buffer<4x4>
  %x = tile.read %s[%c0] : !tile.buffer<4x4> -> !tile.tile<4x4xf32>
  tile.store %x, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<12x4xf32>
  tile.accumulate %one, %one, %s[%c0] : !tile.tile<4x4xf32>, !tile.tile<4x4xf32>, !tile.buffer<4x4>
  %y = tile.read %s[%c0] : !tile.buffer<4x4> -> !tile.tile<4x4xf32>
  tile.store %y, %o[%c4, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<12x4xf32>
  tile.write %one, %s[%c0] : !tile.tile<4x4xf32>, !tile.buffer<4x4>
  %z = tile.read %s[%c0] : !tile.buffer<4x4> -> !tile.tile<4x4xf32>
  tile.store %z, %o[%c8, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<12x4xf32>
}

// What nothing uses goes, but two buffers are never one.
// CHECK-LABEL: tile.kernel @buffers
// CHECK-COUNT-2: buffer
// CHECK-NOT: buffer :
// CHECK-NOT: read
// CHECK: accumulate
// CHECK: accumulate
tile.kernel @buffers attributes {arg_names = [], num_inputs = 0} {
  %c0 = arith.constant 0 : index
  %one = tile.constant 1.0 : !tile.tile<4x4xf32>
  %unused = tile.buffer : !tile.buffer<4x4>
  %a = tile.buffer : !tile.buffer<4x4>
  %b = tile.buffer : !tile.buffer<4x4>
  %x = tile.read %a[%c0] : !tile.buffer<4x4> -> !tile.tile<4x4xf32>
  tile.accumulate %one, %one, %a[%c0] : !tile.tile<4x4xf32>, !tile.tile<4x4xf32>, !tile.buffer<4x4>
  tile.accumulate %one, %one, %b[%c0] : !tile.tile<4x4xf32>, !tile.tile<4x4xf32>, !tile.buffer<4x4>
}

// Loads of a result see what was stored there before.
// CHECK-LABEL: tile.kernel @results
// CHECK-COUNT-2: load %o
tile.kernel @results attributes {arg_names = ["o"], num_inputs = 0} {
^bb0(%o: memref<8x4xf32>):
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %x = tile.load %o[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x4xf32> -> !tile.tile<4x4xf32>
  tile.store %x, %o[%c4, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<8x4xf32>
  %y = tile.load %o[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x4xf32> -> !tile.tile<4x4xf32>
  tile.store %y, %o[%c4, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<8x4xf32>
}

// So they see what transforms leave there, whose results nothing else uses.
// CHECK-LABEL: tile.kernel @spectra
// CHECK: fourier_roots
// CHECK: load %x
// CHECK: fourier %x
// CHECK: load %x
// CHECK: multiply_spectra
// CHECK: load %x
// CHECK-NOT: power_of_two
tile.kernel @spectra attributes {arg_names = ["r", "x", "o"], num_inputs = 0} {
^bb0(%r: memref<8x2xf32>, %x: memref<8x8xf32>, %o: memref<24x8xf32>):
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %unused = tile.power_of_two %c8 : index
  tile.fourier_roots %r rows %c8 : memref<8x2xf32>
  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x8xf32> -> !tile.tile<8x8xf32>
  tile.fourier %x[] rows %c8 roots %r : memref<8x8xf32>, memref<8x2xf32>
  %b = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x8xf32> -> !tile.tile<8x8xf32>
  tile.multiply_spectra %x[], %x[] to %x[] rows %c8 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %c = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x8xf32> -> !tile.tile<8x8xf32>
  tile.store %a, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x8xf32>, memref<24x8xf32>
  tile.store %b, %o[%c8, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x8xf32>, memref<24x8xf32>
  tile.store %c, %o[%c16, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x8xf32>, memref<24x8xf32>
}
