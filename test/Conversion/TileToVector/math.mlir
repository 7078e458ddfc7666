// RUN: polyattn-opt %s --tile-to-vector --polyattn-vector-to-llvm-pipeline | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: polyattn-opt %s --tile-to-vector="vector-width=4 registers=16 instructions=none" --polyattn-vector-to-llvm-pipeline="instructions=none" | FileCheck %s --check-prefixes=CHECK,PORTABLE
// RUN: polyattn-opt %s --tile-to-vector="vector-width=4 registers=32" --polyattn-vector-to-llvm-pipeline | FileCheck %s --check-prefixes=CHECK,FOUR
// Functions become polynomials: no call of libm, no intrinsic that turns into one.

#m = strided<[?, 1], offset: ?>

// CHECK-LABEL: llvm.func @functions
// CHECK-NOT: llvm.intr.{{exp|tanh|log|sin|cos|pow|erf}}
// CHECK-NOT: llvm.intr.fma(
// PORTABLE-NOT: llvm.intr.floor
// CHECK-NOT: llvm.call
// CHECK: llvm.return
tile.kernel @functions attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, #m>, %o: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %at = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<8x64xf32>
  %r = tile.map %at : !tile.tile<8x64xf32> -> !tile.tile<8x64xf32> {
  ^bb0(%x: f32):
    %0 = math.exp %x : f32
    %1 = math.exp2 %0 : f32
    %2 = math.tanh %1 : f32
    %3 = math.erf %2 : f32
    %c = math.erfc %3 : f32
    %4 = math.log1p %c : f32
    %5 = math.sin %4 : f32
    %6 = math.cos %5 : f32
    %7 = math.log %6 : f32
    tile.yield %7 : f32
  }
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x64xf32>, memref<?x?xf32, #m>
}

// What is known to be small has no upper limit to check, only the one below which exp is 0; and the
// functions of all vectors of a row are computed together.
// CHECK-LABEL: llvm.func @small
// CHECK-NOT: llvm.fcmp
// AVX512: %[[SMALL:.*]] = llvm.intr.minimum({{.*}}nsz{{.*}} (vector<64xf32>, vector<64xf32>)
// AVX512: llvm.intr.maximum(%[[SMALL]], {{.*}} (vector<64xf32>, vector<64xf32>)
// CHECK-NOT: llvm.fcmp
// AVX512-NOT: llvm.intr.minimum
// CHECK: llvm.return
tile.kernel @small attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, #m>, %o: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %at = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<8x64xf32>
  %r = tile.map %at : !tile.tile<8x64xf32> -> !tile.tile<8x64xf32> {
  ^bb0(%x: f32):
    %least = arith.minimumf %x, %zero fastmath<nsz> : f32
    %0 = math.exp %least : f32
    tile.yield %0 : f32
  }
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x64xf32>, memref<?x?xf32, #m>
}

// What instructions there are is said, not told by the number of lanes.
// CHECK-LABEL: llvm.func @instructions
// AVX512: llvm.intr.floor
// FOUR: llvm.intr.floor
// FOUR-NOT: llvm.fpext
// PORTABLE-NOT: llvm.intr.floor
// PORTABLE: llvm.fpext {{.*}} to vector<4xf64>
// CHECK: llvm.return
tile.kernel @instructions attributes {arg_names = ["a", "o"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32, #m>, %o: memref<?x?xf32, #m>):
  %c0 = arith.constant 0 : index
  %at = tile.load %a[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x?xf32, #m> -> !tile.tile<8x64xf32>
  %r = tile.map %at : !tile.tile<8x64xf32> -> !tile.tile<8x64xf32> {
  ^bb0(%x: f32):
    %0 = math.floor %x : f32
    %1 = math.fma %0, %x, %x : f32
    tile.yield %1 : f32
  }
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x64xf32>, memref<?x?xf32, #m>
}
