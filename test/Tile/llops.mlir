// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s
// The shape of a whole tile kernel: LLoPS p = 2 with features on the diagonal.

#row = strided<[?, ?, ?, 1], offset: ?>
// CHECK-LABEL: tile.kernel @llops
tile.kernel @llops programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "k", "v", "wq1", "wq2", "wk1", "wk2", "o"], num_inputs = 7} {
^bb0(%q: memref<?x?x?x64xf32, #row>, %k: memref<?x?x?x64xf32, #row>, %v: memref<?x?x?x64xf32, #row>,
     %wq1: memref<64x256xf32, strided<[?, 1], offset: ?>>, %wq2: memref<64x256xf32, strided<[?, 1], offset: ?>>,
     %wk1: memref<64x256xf32, strided<[?, 1], offset: ?>>, %wk2: memref<64x256xf32, strided<[?, 1], offset: ?>>,
     %o: memref<?x?x?x64xf32, #row>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c2 = arith.constant 2 : index
  %heads = memref.dim %q, %c2 : memref<?x?x?x64xf32, #row>
  %key_heads = memref.dim %k, %c2 : memref<?x?x?x64xf32, #row>
  %group = arith.divui %heads, %key_heads : index
  %kv_head = arith.divui %head, %group : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %block = arith.constant 64 : index
  %step = arith.constant 128 : index
  %features = arith.constant 256 : index
  %a1 = tile.load %wq1[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x256xf32, strided<[?, 1], offset: ?>> -> !tile.tile<64x256xf32>
  %a2 = tile.load %wq2[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x256xf32, strided<[?, 1], offset: ?>> -> !tile.tile<64x256xf32>
  %b1 = tile.load %wk1[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x256xf32, strided<[?, 1], offset: ?>> -> !tile.tile<64x256xf32>
  %b2 = tile.load %wk2[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x256xf32, strided<[?, 1], offset: ?>> -> !tile.tile<64x256xf32>
  %state = tile.buffer : !tile.buffer<256x64>
  %length = memref.dim %q, %c1 : memref<?x?x?x64xf32, #row>
  scf.for %t = %c0 to %length step %block {
    %left = arith.subi %length, %t : index
    %valid = arith.minsi %left, %block : index
    // CHECK: tile.load %q[%batch, %{{.*}}, %head, %{{.*}}] valid
    %qt = tile.load %q[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xf32, #row> -> !tile.tile<64x64xf32>
    %kt = tile.load %k[%batch, %t, %kv_head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xf32, #row> -> !tile.tile<64x64xf32>
    %vt = tile.load %v[%batch, %t, %kv_head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #row> -> !tile.tile<64x64xf32>
    %zero = tile.constant 0.0 : !tile.tile<64x64xf32>
    %acc, %p = scf.for %f = %c0 to %features step %step iter_args(%o0 = %zero, %p0 = %zero) -> (!tile.tile<64x64xf32>, !tile.tile<64x64xf32>) {
      %u1 = tile.slice %a1[%c0, %f] : !tile.tile<64x256xf32> -> !tile.tile<64x128xf32>
      %u2 = tile.slice %a2[%c0, %f] : !tile.tile<64x256xf32> -> !tile.tile<64x128xf32>
      %w1 = tile.slice %b1[%c0, %f] : !tile.tile<64x256xf32> -> !tile.tile<64x128xf32>
      %w2 = tile.slice %b2[%c0, %f] : !tile.tile<64x256xf32> -> !tile.tile<64x128xf32>
      %x1 = tile.dot %u1, %qt {lhs_transposed} : !tile.tile<64x128xf32>, !tile.tile<64x64xf32> -> !tile.tile<128x64xf32>
      %x2 = tile.dot %u2, %qt {lhs_transposed} : !tile.tile<64x128xf32>, !tile.tile<64x64xf32> -> !tile.tile<128x64xf32>
      %phi_q = tile.map %x1, %x2 : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<128x64xf32> {
      ^bb0(%x: f32, %y: f32):
        %r = arith.mulf %x, %y : f32
        tile.yield %r : f32
      }
      %y1 = tile.dot %w1, %kt {lhs_transposed} : !tile.tile<64x128xf32>, !tile.tile<64x64xf32> -> !tile.tile<128x64xf32>
      %y2 = tile.dot %w2, %kt {lhs_transposed} : !tile.tile<64x128xf32>, !tile.tile<64x64xf32> -> !tile.tile<128x64xf32>
      %phi_k = tile.map %y1, %y2 : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<128x64xf32> {
      ^bb0(%x: f32, %y: f32):
        %r = arith.mulf %x, %y : f32
        tile.yield %r : f32
      }
      %s = tile.read %state[%f] : !tile.buffer<256x64> -> !tile.tile<128x64xf32>
      %o1 = tile.dot %phi_q, %s acc %o0 : !tile.tile<64x64xf32> {lhs_transposed} : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<64x64xf32>
      %p1 = tile.dot %phi_q, %phi_k acc %p0 : !tile.tile<64x64xf32> {lhs_transposed, lower} : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<64x64xf32>
      // CHECK: tile.accumulate
      tile.accumulate %phi_k, %vt, %state[%f] bound %valid : !tile.tile<128x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<256x64>
      scf.yield %o1, %p1 : !tile.tile<64x64xf32>, !tile.tile<64x64xf32>
    }
    %masked = tile.causal_mask %p : !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    %result = tile.dot %masked, %vt acc %acc : !tile.tile<64x64xf32> {lower_lhs} : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    tile.store %result, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32, #row>
  }
}
