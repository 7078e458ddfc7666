// RUN: polyattn-opt %s --tile-pack-operands | FileCheck %s
// RUN: polyattn-opt %s --tile-pack-operands --tile-pack-operands | FileCheck %s

// One op makes both layouts of the keys; weights are packed once, where they are loaded, and the
// product in the loop reads a window of them. What is not bf16 stays.

// CHECK-LABEL: tile.kernel @state
// CHECK: %[[W:.*]] = load %w
// CHECK-NEXT: %[[WP:.*]] = pack %[[W]] : <64x96xf32> -> !tile.tile<64x96xbf16, row_pairs>
// CHECK: %[[X:.*]] = load %k{{.*}}transposed
// CHECK-NEXT: %[[XP:.*]] = pack %[[X]] : <64x32xf32> -> !tile.tile<64x32xbf16, row_pairs>
// CHECK: scf.for %[[F:.*]] = %c0 to %c96 step %c32
// CHECK: %[[WINDOW:.*]] = tile.slice %[[WP]][%c0, %[[F]]] : <64x96xbf16, row_pairs> -> <64x32xbf16, row_pairs>
// CHECK: %[[PHI:.*]] = tile.dot %[[WINDOW]], %[[XP]] precision <bf16> {lhs_transposed} : <64x32xbf16, row_pairs>, <64x32xbf16, row_pairs> -> <32x32xf32>
// CHECK-NEXT: %[[BOTH:.*]]:2 = tile.pack %[[PHI]] : <32x32xf32> -> !tile.tile<32x32xbf16, row_pairs>, !tile.tile<32x32xbf16>
// CHECK: tile.dot %[[BOTH]]#0, %[[BOTH]]#0 precision <bf16> {lhs_transposed, lower}
// CHECK: tile.accumulate %[[BOTH]]#1, %{{.*}} precision <bf16> : <32x32xbf16>, <32x64xbf16, row_pairs>, <96x64>
// CHECK: tile.dot %[[PHI]], %[[PHI]] precision <f32> {lhs_transposed}
tile.kernel @state programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "w", "o"], num_inputs = 2} {
^bb0(%k: memref<?x?x?x64xbf16>, %w: memref<64x96xbf16>, %o: memref<?x?x?x32xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  %weights = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x96xbf16> -> !tile.tile<64x96xf32>
  %x = tile.load %k[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x32xf32>
  %v = tile.load %k[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<32x64xf32>
  %s = tile.buffer : !tile.buffer<96x64>
  scf.for %f = %c0 to %c96 step %c32 {
    %window = tile.slice %weights[%c0, %f] : !tile.tile<64x96xf32> -> !tile.tile<64x32xf32>
    %phi = tile.dot %window, %x precision <bf16> {lhs_transposed} : !tile.tile<64x32xf32>, !tile.tile<64x32xf32> -> !tile.tile<32x32xf32>
    %scores = tile.dot %phi, %phi precision <bf16> {lhs_transposed, lower} : !tile.tile<32x32xf32>, !tile.tile<32x32xf32> -> !tile.tile<32x32xf32>
    tile.accumulate %phi, %v, %s[%f] precision <bf16> : !tile.tile<32x32xf32>, !tile.tile<32x64xf32>, !tile.buffer<96x64>
    %exact = tile.dot %phi, %phi precision <f32> {lhs_transposed} : !tile.tile<32x32xf32>, !tile.tile<32x32xf32> -> !tile.tile<32x32xf32>
    %sum = tile.map %scores, %exact : !tile.tile<32x32xf32>, !tile.tile<32x32xf32> -> !tile.tile<32x32xf32> {
    ^bb0(%a: f32, %b: f32):
      %y = arith.addf %a, %b : f32
      tile.yield %y : f32
    }
    tile.store %sum, %o[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<32x32xf32>, memref<?x?x?x32xf32>
  }
}

// A window that may begin in the middle of a pair is packed itself; an odd number of terms stays.
// CHECK-LABEL: tile.kernel @odd
// CHECK: scf.for
// CHECK: %[[WINDOW:.*]] = tile.slice %{{.*}} : <96x32xf32> -> <32x32xf32>
// CHECK-NEXT: tile.pack %[[WINDOW]] : <32x32xf32> -> !tile.tile<32x32xbf16, row_pairs>
// CHECK: tile.dot %{{.*}} precision <bf16> {lhs_transposed} : <32x32xbf16, row_pairs>
// CHECK: tile.dot %{{.*}} precision <bf16> {lhs_transposed} : <31x32xf32>, <31x32xf32> -> <32x32xf32>
tile.kernel @odd programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "o"], num_inputs = 1} {
^bb0(%k: memref<?x?x?x32xbf16>, %o: memref<?x?x?x32xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %x = tile.load %k[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x32xbf16> -> !tile.tile<96x32xf32>
  scf.for %f = %c0 to %c64 step %c3 {
    %window = tile.slice %x[%f, %c0] : !tile.tile<96x32xf32> -> !tile.tile<32x32xf32>
    %a = tile.dot %window, %window precision <bf16> {lhs_transposed} : !tile.tile<32x32xf32>, !tile.tile<32x32xf32> -> !tile.tile<32x32xf32>
    %short = tile.slice %x[%f, %c0] : !tile.tile<96x32xf32> -> !tile.tile<31x32xf32>
    %b = tile.dot %short, %short precision <bf16> {lhs_transposed} : !tile.tile<31x32xf32>, !tile.tile<31x32xf32> -> !tile.tile<32x32xf32>
    tile.store %a, %o[%batch, %f, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<32x32xf32>, memref<?x?x?x32xf32>
    tile.store %b, %o[%batch, %f, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<32x32xf32>, memref<?x?x?x32xf32>
  }
}
