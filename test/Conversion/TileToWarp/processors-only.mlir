// RUN: polyattn-opt %s --verify-diagnostics --tile-to-warp

tile.kernel @contracts attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<64x64xf32>, %o: memref<64x64xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x64xf32> -> !tile.tile<64x64xf32>
  %g = tile.slice %t[%c0, %c0] : !tile.tile<64x64xf32> -> !tile.tile<1x64xf32>
  // expected-error @below {{cannot be lowered to a GPU}}
  %r = tile.contract %g, %t[%c0] acc %t {table = dense<[[0, 1]]> : tensor<1x2xi32>} : !tile.tile<1x64xf32>, !tile.tile<64x64xf32>
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
}
