// RUN: polyattn-opt %s --tile-to-vector="vector-width=16 registers=32 instructions=fma,round,avx512,avx512bf16" -split-input-file -verify-diagnostics | FileCheck %s

// Words of two terms: half the steps, and half an iteration more for an odd bound.

// CHECK-LABEL: func.func @product
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
tile.kernel @product attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, %o: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.tile<16x16xf32>
  %p = tile.pack %x : !tile.tile<16x16xf32> -> !tile.tile<16x16xbf16, row_pairs>
  %y = tile.dot %p, %p precision <bf16> {lhs_transposed} : !tile.tile<16x16xbf16, row_pairs>, !tile.tile<16x16xbf16, row_pairs> -> !tile.tile<16x16xf32>
  tile.store %y, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>
}

// -----

tile.kernel @layout attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, %o: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.tile<16x16xf32>
  %p = tile.pack %x : !tile.tile<16x16xf32> -> !tile.tile<16x16xbf16>
  // expected-error @+1 {{no micro-kernel multiplies '!tile.tile<16x16xbf16>', transposed, and '!tile.tile<16x16xbf16>' in bf16}}
  %y = tile.dot %p, %p precision <bf16> {lhs_transposed} : !tile.tile<16x16xbf16>, !tile.tile<16x16xbf16> -> !tile.tile<16x16xf32>
  tile.store %y, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>
}

// -----

tile.kernel @odd_rows attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.tile<16x15xf32>
  // expected-error @+1 {{this lowering packs rows of an even length, not '!tile.tile<16x15xf32>'}}
  %p = tile.pack %x : !tile.tile<16x15xf32> -> !tile.tile<16x15xbf16>
}

// -----

tile.kernel @added attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, %o: memref<?x?xf32, strided<[?, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.tile<16x16xf32>
  %p = tile.pack %x : !tile.tile<16x16xf32> -> !tile.tile<16x16xbf16>
  // expected-error @+1 {{this lowering reads tiles of 16 bits in products and windows only}}
  %y = tile.map %p : !tile.tile<16x16xbf16> -> !tile.tile<16x16xf32> {
  ^bb0(%e: bf16):
    %w = arith.extf %e : bf16 to f32
    tile.yield %w : f32
  }
  tile.store %y, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>
}
