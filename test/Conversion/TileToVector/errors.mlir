// RUN: polyattn-opt %s --tile-to-vector -split-input-file -verify-diagnostics

tile.kernel @integers attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xi32, strided<[?, 1], offset: ?>>, %o: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{expected floating-point elements}}
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xi32, strided<[?, 1], offset: ?>> -> !tile.tile<8x8xf32>
  tile.store %x, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x8xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>
}

// -----

tile.kernel @foreign attributes {arg_names = ["o"], num_inputs = 0} {
^bb0(%o: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{is not supported in a kernel}}
  %m = memref.alloc() : memref<8x8xf32>
}

// -----

tile.kernel @bf16 attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, %o: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.tile<8x8xf32>
  // expected-error @+1 {{no micro-kernel multiplies '!tile.tile<8x8xf32>' and '!tile.tile<8x8xf32>' in bf16}}
  %y = tile.dot %x, %x precision <bf16> : !tile.tile<8x8xf32>, !tile.tile<8x8xf32> -> !tile.tile<8x8xf32>
  tile.store %y, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x8xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>
}

// -----

tile.kernel @update_in_bf16 attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<8x8>
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.tile<8x8xf32>
  // expected-error @+1 {{no micro-kernel multiplies '!tile.tile<8x8xf32>' and '!tile.tile<8x8xf32>' in bf16}}
  tile.accumulate %x, %x, %s[%c0] precision <bf16> : !tile.tile<8x8xf32>, !tile.tile<8x8xf32>, !tile.buffer<8x8>
}

// -----

tile.kernel @bf16_tile attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xbf16, strided<[?, 1], offset: ?>>, %o: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{this lowering takes tiles of f32 or f64, not 'bf16'}}
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xbf16, strided<[?, 1], offset: ?>> -> !tile.tile<8x8xbf16>
  tile.store %x, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x8xbf16>, memref<?x?xf32, strided<[?, 1], offset: ?>>
}

// -----

tile.kernel @pack attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.tile<8x8xf32>
  // expected-error @+1 {{needs instructions for bf16, which the machine lacks}}
  %y = tile.pack %x : !tile.tile<8x8xf32> -> !tile.tile<8x8xbf16, row_pairs>
}
