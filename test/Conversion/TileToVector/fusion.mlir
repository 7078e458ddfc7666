// RUN: polyattn-opt %s --tile-to-vector | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: polyattn-opt %s --tile-to-vector="vector-width=8 registers=16" | FileCheck %s --check-prefixes=CHECK,AVX2
// Two products and their map are one nest: eight accumulators for each product and the pointers of
// three operands, one loop over k, the multiplications behind it. With AVX2 there are six for each
// product in tiles of three vectors, and four in the last tile, of two.

#m = strided<[?, 1], offset: ?>

// CHECK-LABEL: func.func @dual
// AVX512: scf.for {{.*}} iter_args({{(.*vector<16xf32>){16}(,|\))}}
// AVX512-COUNT-16: vector.fma {{.*}} : vector<16xf32>
// AVX512: scf.yield
// AVX512-COUNT-8: arith.mulf {{.*}} : vector<16xf32>
// AVX2: scf.for {{.*}} iter_args({{.*}}) -> ({{(vector<8xf32>, ){12}(!llvm)}}.ptr
// AVX2-COUNT-12: vector.fma {{.*}} : vector<8xf32>
// AVX2-NOT: vector.fma
// AVX2: scf.yield
// AVX2-COUNT-6: arith.mulf {{.*}} : vector<8xf32>
// AVX2-NOT: arith.mulf
// AVX2: scf.for {{.*}} iter_args({{.*}}) -> ({{(vector<8xf32>, ){8}(!llvm)}}.ptr
// AVX2-COUNT-16: vector.fma {{.*}} : vector<8xf32>
// AVX2: scf.yield
// AVX2-COUNT-4: arith.mulf {{.*}} : vector<8xf32>
// CHECK: llvm.store
tile.kernel @dual attributes {arg_names = ["a", "b", "x", "o"], num_inputs = 3} {
^bb0(%a: memref<?x?xf32, #m>, %b: memref<?x?xf32, #m>, %x: memref<?x?xf32, #m>, %o: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %at = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<64x128xf32>
  %bt = tile.load %b[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<64x128xf32>
  %xt = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<64x64xf32>
  %u = tile.dot %at, %xt {lhs_transposed} : !tile.tile<64x128xf32>, !tile.tile<64x64xf32> -> !tile.tile<128x64xf32>
  %v = tile.dot %bt, %xt {lhs_transposed} : !tile.tile<64x128xf32>, !tile.tile<64x64xf32> -> !tile.tile<128x64xf32>
  %r = tile.map %u, %v : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<128x64xf32> {
  ^bb0(%p: f32, %q: f32):
    %y = arith.mulf %p, %q : f32
    tile.yield %y : f32
  }
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<128x64xf32>, memref<?x?xf32, #m>
}

// Zeros above the diagonal are not written where nothing reads them.
// CHECK-LABEL: func.func @causal
// CHECK-NOT: arith.select
// CHECK: return
tile.kernel @causal attributes {arg_names = ["a", "b", "v", "o"], num_inputs = 3} {
^bb0(%a: memref<?x?xf32, #m>, %b: memref<?x?xf32, #m>, %v: memref<?x?xf32, #m>, %o: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %at = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<32x64xf32>
  %bt = tile.load %b[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<32x64xf32>
  %vt = tile.load %v[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<64x64xf32>
  %s = tile.dot %at, %bt {lhs_transposed, lower} : !tile.tile<32x64xf32>, !tile.tile<32x64xf32> -> !tile.tile<64x64xf32>
  %m = tile.causal_mask %s : !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  %r = tile.dot %m, %vt {lower_lhs} : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<?x?xf32, #m>
}

// Rows that only a map reads pass through it on their way; what it gives is read by the product and
// by the sums of its rows, four at a time.
// CHECK-LABEL: func.func @mapped
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: arith.maximumf
// CHECK: llvm.store
// CHECK: arith.maximumf %[[ZERO:.*]], %[[ZERO]] : vector
// CHECK-NOT: arith.maximumf
// AVX512: iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// AVX512-COUNT-8: vector.shuffle
// AVX512: llvm.store {{.*}} : vector<4xf32>
// CHECK: return
tile.kernel @mapped attributes {arg_names = ["a", "b", "o", "s"], num_inputs = 2} {
^bb0(%a: memref<?x?xf32, #m>, %b: memref<?x?xf32, #m>, %o: memref<?x?xf32, #m>, %s: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32, #m>
  %zero = arith.constant 0.0 : f32
  %at = tile.load %a[%c0, %c0] valid %n {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<32x64xf32>
  %phi = tile.map %at : !tile.tile<32x64xf32> -> !tile.tile<32x64xf32> {
  ^bb0(%x: f32):
    %y = arith.maximumf %x, %zero : f32
    tile.yield %y : f32
  }
  %bt = tile.load %b[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<64x64xf32>
  %sums = tile.reduce <add> <columns> %phi : !tile.tile<32x64xf32> -> !tile.tile<32x1xf32>
  %r = tile.dot %phi, %bt : !tile.tile<32x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<32x64xf32>
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<32x64xf32>, memref<?x?xf32, #m>
  tile.store %sums, %s[%c0, %c0] {row_dim = 0, col_dim = -1} : !tile.tile<32x1xf32>, memref<?x?xf32, #m>
}

// A constant that a reduction reads: whether it is computed there does not depend on what it holds.
// CHECK-LABEL: func.func @reduced_constant
// CHECK: llvm.store
tile.kernel @reduced_constant attributes {arg_names = ["o"], num_inputs = 0} {
^bb0(%o: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %c = tile.constant 3.0 : !tile.tile<8x64xf32>
  %s = tile.reduce <add> <rows> %c : !tile.tile<8x64xf32> -> !tile.tile<1x64xf32>
  %d = tile.map %c, %s : !tile.tile<8x64xf32>, !tile.tile<1x64xf32> -> !tile.tile<8x64xf32> {
  ^bb0(%x: f32, %n: f32):
    %y = arith.divf %x, %n : f32
    tile.yield %y : f32
  }
  tile.store %d, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x64xf32>, memref<?x?xf32, #m>
}
