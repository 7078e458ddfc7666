// RUN: polyattn-opt %s --polyattn-cpu-pipeline="stop-after=vector target=x86-64-v3" | FileCheck %s

// Blocks of whole vectors are transposed in registers. In the rows behind the last such block zeros are stored as
// vectors, and the elements that exist over them.
// CHECK-LABEL: func.func @ragged
// CHECK:         %[[WHOLE:.*]] = arith.muli %{{.*}}, %c8_i64
// CHECK:         scf.for %{{.*}} = %c0_i64 to %[[WHOLE]] step %c8_i64
// CHECK:           call @polyattn_transpose_f32_f32
// CHECK:         scf.for %{{.*}} = %c0_i64 to %c32_i64 step %c1_i64
// CHECK:           scf.for %{{.*}} = %[[WHOLE]] to %c64_i64 step %c8_i64
// CHECK:             llvm.store {{.*}} : vector<8xf32>
// CHECK:           scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %c1_i64
// CHECK:             llvm.store {{.*}} : f32

tile.kernel @ragged attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x32xf32, strided<[32, 1], offset: ?>>, %o: memref<32x64xf32, strided<[64, 1], offset: ?>>):
  %c0 = arith.constant 0 : index
  %n = memref.dim %q, %c0 : memref<?x32xf32, strided<[32, 1], offset: ?>>
  %t = tile.load %q[%c0, %c0] valid %n {row_dim = 0, col_dim = 1, transposed} : memref<?x32xf32, strided<[32, 1], offset: ?>> -> !tile.tile<32x64xf32>
  %s = tile.reduce <add> <columns> %t : !tile.tile<32x64xf32> -> !tile.tile<32x1xf32>
  tile.store %t, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<32x64xf32>, memref<32x64xf32, strided<[64, 1], offset: ?>>
}
