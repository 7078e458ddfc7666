// RUN: polyattn-opt %s --tile-prefetch | FileCheck %s
// RUN: polyattn-opt %s --tile-prefetch=fewest-terms=64 | FileCheck %s --check-prefix=LONG

#m = strided<[?, ?, ?, 1], offset: ?>

// The nest of the product fetches what the next iteration loads and stores, but not what all iterations load.
// CHECK-LABEL: tile.kernel @blocks
// CHECK: load %b{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64} :
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, tile.prefetched_by = #tile.nest<0>}
// CHECK: tile.dot %{{.*}} {tile.nest = #tile.nest<0>}
// CHECK: tile.store %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, tile.prefetched_by = #tile.nest<0>}
// LONG-LABEL: tile.kernel @blocks
// LONG-NOT: nest
// LONG-NOT: prefetched_by
tile.kernel @blocks programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["a", "b", "o"], num_inputs = 2} {
^bb0(%a: memref<?x?x?x64xf32, #m>, %b: memref<?x?x?x64xf32, #m>, %o: memref<?x?x?x64xf32, #m>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %a, %c1 : memref<?x?x?x64xf32, #m>
  %bt = tile.load %b[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<32x64xf32>
  scf.for %i = %c0 to %n step %c64 {
    %at = tile.load %a[%batch, %i, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x32xf32>
    %r = tile.dot %at, %bt : !tile.tile<64x32xf32>, !tile.tile<32x64xf32> -> !tile.tile<64x64xf32>
    tile.store %r, %o[%batch, %i, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32, #m>
  }
}

// Products of a loop over features in the loop over blocks share the rows; what is loaded where only the
// body knows, or in a triangle's product, is left alone.
// CHECK-LABEL: tile.kernel @features
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, tile.prefetched_by = #tile.nest<0 in 4 iterations>, transposed}
// CHECK: tile.load %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, tile.prefetched_by = #tile.nest<1 in 4 iterations>}
// CHECK: tile.load %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64}
// CHECK: tile.dot %{{.*}} {lhs_transposed, lower}
// CHECK: scf.for
// CHECK: tile.dot %{{.*}} {lhs_transposed, tile.nest = #tile.nest<0 in 4 iterations>}
// CHECK: tile.accumulate %{{.*}} {tile.nest = #tile.nest<1 in 4 iterations>}
// CHECK: tile.store %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, tile.prefetched_by = #tile.nest<0 in 4 iterations>}
tile.kernel @features programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "k", "v", "o"], num_inputs = 3} {
^bb0(%q: memref<?x?x?x64xf32, #m>, %k: memref<?x?x?x64xf32, #m>, %v: memref<?x?x?x64xf32, #m>, %o: memref<?x?x?x64xf32, #m>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %q, %c1 : memref<?x?x?x64xf32, #m>
  %s = tile.buffer : <128x64>
  scf.for %i = %c0 to %n step %c64 {
    %qt = tile.load %q[%batch, %i, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xf32, #m> -> !tile.tile<32x64xf32>
    %vt = tile.load %v[%batch, %i, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x64xf32>
    %last = arith.muli %i, %i : index
    %kt = tile.load %k[%batch, %last, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x64xf32>
    %p = tile.dot %qt, %qt {lhs_transposed, lower} : !tile.tile<32x64xf32>, !tile.tile<32x64xf32> -> !tile.tile<64x64xf32>
    %m = tile.causal_mask %p : !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    %sums = scf.for %f = %c0 to %c128 step %c32 iter_args(%sum = %m) -> (!tile.tile<64x64xf32>) {
      %r = tile.read %s[%f] : <128x64> -> <32x64xf32>
      %next = tile.dot %qt, %r acc %sum : !tile.tile<64x64xf32> {lhs_transposed} : !tile.tile<32x64xf32>, !tile.tile<32x64xf32> -> !tile.tile<64x64xf32>
      %phi = tile.slice %qt[%c0, %c0] : !tile.tile<32x64xf32> -> !tile.tile<32x64xf32>
      tile.accumulate %phi, %vt, %s[%f] : !tile.tile<32x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<128x64>
      scf.yield %next : !tile.tile<64x64xf32>
    }
    %both = tile.map %sums, %kt : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    tile.store %both, %o[%batch, %i, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32, #m>
  }
}

// A loop that goes backwards takes its positions off the end: the rows of its next iteration lie before those at hand.
// What falls twice as fast, or goes by a product, does not lie beside them.
// CHECK-LABEL: tile.kernel @backwards
// CHECK: tile.load %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, tile.prefetched_by = #tile.nest<0>}
// CHECK: tile.load %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64} :
// CHECK: tile.dot %{{.*}} {tile.nest = #tile.nest<0>}
// CHECK: tile.store %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, tile.prefetched_by = #tile.nest<0>}
tile.kernel @backwards programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["a", "b", "o"], num_inputs = 2} {
^bb0(%a: memref<?x?x?x64xf32, #m>, %b: memref<?x?x?x64xf32, #m>, %o: memref<?x?x?x64xf32, #m>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %a, %c1 : memref<?x?x?x64xf32, #m>
  scf.for %i = %c0 to %n step %c64 {
    %behind = arith.subi %n, %i : index
    %first = arith.subi %behind, %c64 : index
    %other = arith.subi %first, %i : index
    %at = tile.load %a[%batch, %first, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<64x32xf32>
    %bt = tile.load %b[%batch, %other, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xf32, #m> -> !tile.tile<32x64xf32>
    %r = tile.dot %at, %bt : !tile.tile<64x32xf32>, !tile.tile<32x64xf32> -> !tile.tile<64x64xf32>
    tile.store %r, %o[%batch, %first, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xf32, #m>
  }
}
