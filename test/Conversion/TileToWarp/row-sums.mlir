// RUN: polyattn-opt %s --tile-set-precision=tensor-cores --tile-to-warp --canonicalize --cse | FileCheck %s

// A state S and its normalizer z: phi_q z comes with phi_q S, and phi_k 1 with phi_k V. Each of the
// two has one loop over its terms, and fragments of 16 x 8 more for the sums in it, of which the two warps
// that have the same rows compute one each.

// CHECK: gpu.func @normalized(
// CHECK: scf.for
// O = phi_q S, whose accumulators stay in registers: 2 x 4 fragments of each warp, and 1 of the 2 for the sums.
// CHECK: scf.for %{{.*}} -> (f32, f32, f32
// CHECK-COUNT-9: warp.mma_sync <bf16>
// CHECK-NOT: warp.mma_sync
// CHECK: scf.yield
// One lane of four has a sum.
// CHECK: scf.if
// CHECK: warp.store_shared %{{.*}} : f32
// S + phi_k V, where ones take no loads.
// CHECK: scf.for %{{.*}} -> (f32, f32, f32
// CHECK-COUNT-9: warp.mma_sync <bf16>
// CHECK-NOT: warp.mma_sync
// CHECK: scf.yield
// CHECK: scf.if
// CHECK: warp.store_shared %{{.*}} : f32
// CHECK-NOT: warp.mma_sync


tile.kernel @normalized programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "k", "v", "o", "d"], num_inputs = 3} {
^bb0(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>,
     %o: memref<?x?x?x64xbf16>, %d: memref<?x?x?x1xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %q, %c1 : memref<?x?x?x64xbf16>
  %s = tile.buffer : !tile.buffer<64x64>
  %z = tile.buffer : !tile.buffer<64x1>
  scf.for %t = %c0 to %n step %c64 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c64 : index
    %phi_q = tile.load %q[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %phi_k = tile.load %k[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %values = tile.load %v[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %state = tile.read %s[%c0] : !tile.buffer<64x64> -> !tile.tile<64x64xf32>
    %sum = tile.dot %phi_q, %state {lhs_transposed} : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    %norm = tile.read %z[%c0] : !tile.buffer<64x1> -> !tile.tile<64x1xf32>
    %row = tile.dot %norm, %phi_q {lhs_transposed} : !tile.tile<64x1xf32>, !tile.tile<64x64xf32> -> !tile.tile<1x64xf32>
    %new = tile.reduce <add> <columns> %phi_k bound %valid : !tile.tile<64x64xf32> -> !tile.tile<64x1xf32>
    %all = tile.map %norm, %new : !tile.tile<64x1xf32>, !tile.tile<64x1xf32> -> !tile.tile<64x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    tile.write %all, %z[%c0] : !tile.tile<64x1xf32>, !tile.buffer<64x1>
    tile.accumulate %phi_k, %values, %s[%c0] bound %valid : !tile.tile<64x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<64x64>
    %column = tile.transpose %row : !tile.tile<1x64xf32> -> !tile.tile<64x1xf32>
    tile.store %column, %d[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<64x1xf32>, memref<?x?x?x1xf32>
    %twice = tile.map %sum, %sum : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    tile.store %twice, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xbf16>
  }
}
