// RUN: polyattn-opt %s --tile-fuse-windows | FileCheck %s --check-prefixes=CHECK,FUSE
// RUN: polyattn-opt %s --tile-fuse-windows=reuse-later | FileCheck %s --check-prefixes=CHECK,REUSE

// Columns of a projection's weights, or rows of transposed ones, give rows of the projection. A function of two such gives rows of the
// features, and a row that all of them share stays as it is.
// CHECK-LABEL: tile.kernel @alone
// CHECK-NOT: dot
// CHECK: scf.for %[[F:[a-z0-9]*]] = %{{.*}} iter_args
// CHECK-DAG: %[[U:.*]] = {{(tile\.)?}}slice %{{.*}}[%{{.*}}, %[[F]]] : <8x64xf32> -> <8x32xf32>
// CHECK-DAG: %[[A:.*]] = {{(tile\.)?}}dot %[[U]], %[[X:.*]] {lhs_transposed} : <8x32xf32>, <8x16xf32> -> <32x16xf32>
// CHECK-DAG: %[[W:.*]] = {{(tile\.)?}}slice %{{.*}}[%[[F]], %{{.*}}] : <64x8xf32> -> <32x8xf32>
// CHECK-DAG: %[[B:.*]] = {{(tile\.)?}}dot %[[W]], %[[X]] : <32x8xf32>, <8x16xf32> -> <32x16xf32>
// CHECK: %[[PHI:.*]] = {{(tile\.)?}}map %[[A]], %[[B]], %{{.*}} : !tile.tile<32x16xf32>, !tile.tile<32x16xf32>, !tile.tile<1x16xf32> -> <32x16xf32>
// CHECK-NOT: slice
// CHECK: {{(tile\.)?}}dot %{{.*}}, %[[PHI]] acc
tile.kernel @alone programs [dim(0, 0)] attributes {arg_names = ["q", "u", "w", "o"], num_inputs = 3} {
^bb0(%q: memref<?x?x?x8xf32>, %u: memref<8x64xf32>, %w: memref<64x8xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %tu = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %tw = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x8xf32> -> !tile.tile<64x8xf32>
  %row = tile.slice %x[%c0, %c0] : !tile.tile<8x16xf32> -> !tile.tile<1x16xf32>
  %a = tile.dot %tu, %x {lhs_transposed} : !tile.tile<8x64xf32>, !tile.tile<8x16xf32> -> !tile.tile<64x16xf32>
  %b = tile.dot %tw, %x : !tile.tile<64x8xf32>, !tile.tile<8x16xf32> -> !tile.tile<64x16xf32>
  %phi = tile.map %a, %b, %row : !tile.tile<64x16xf32>, !tile.tile<64x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<64x16xf32> {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %p, %k : f32
    tile.yield %s : f32
  }
  %zero = tile.constant 0.0 : !tile.tile<16x16xf32>
  %ones = tile.constant 1.0 : !tile.tile<16x32xf32>
  %s = scf.for %f = %c0 to %c64 step %c32 iter_args(%sum = %zero) -> (!tile.tile<16x16xf32>) {
    %window = tile.slice %phi[%f, %c0] : !tile.tile<64x16xf32> -> !tile.tile<32x16xf32>
    %next = tile.dot %ones, %window acc %sum : !tile.tile<16x16xf32> : !tile.tile<16x32xf32>, !tile.tile<32x16xf32> -> !tile.tile<16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  tile.store %s, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xf32>
}

// The projection is read as a whole before the loop, the features behind it. A function of both is read in windows only.
// CHECK-LABEL: tile.kernel @readers
// CHECK: %[[A:.*]] = {{(tile\.)?}}dot %{{.*}}, %{{.*}} {lhs_transposed} : <8x64xf32>, <8x16xf32> -> <64x16xf32>
// CHECK: {{(tile\.)?}}transpose %[[A]]
// REUSE: %[[PHI:.*]] = {{(tile\.)?}}map %[[A]]
// CHECK: scf.for %[[F:[a-z0-9]*]] = %{{.*}} iter_args
// CHECK-DAG: %[[OWN:.*]] = {{(tile\.)?}}slice %[[A]][%[[F]], %{{.*}}] : <64x16xf32> -> <32x16xf32>
// FUSE-DAG: %[[PHIS:.*]] = {{(tile\.)?}}map %[[OWN]] : !tile.tile<32x16xf32> -> <32x16xf32>
// REUSE-DAG: %[[PHIS:.*]] = {{(tile\.)?}}slice %[[PHI]][%[[F]], %{{.*}}] : <64x16xf32> -> <32x16xf32>
// CHECK: {{(tile\.)?}}map %[[PHIS]], %[[OWN]]
// CHECK: scf.if
// FUSE: %[[PHI:.*]] = {{(tile\.)?}}map %[[A]]
// CHECK: {{(tile\.)?}}transpose %[[PHI]]
tile.kernel @readers programs [dim(0, 0)] attributes {arg_names = ["q", "u", "o", "p"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x8xf32>, %u: memref<8x64xf32>, %o: memref<?x?x?x16xf32>, %p: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %length = memref.dim %q, %c1 : memref<?x?x?x8xf32>
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %tu = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %a = tile.dot %tu, %x {lhs_transposed} : !tile.tile<8x64xf32>, !tile.tile<8x16xf32> -> !tile.tile<64x16xf32>
  %t = tile.transpose %a : !tile.tile<64x16xf32> -> !tile.tile<16x64xf32>
  tile.store %t, %p[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32>
  %phi = tile.map %a : !tile.tile<64x16xf32> -> !tile.tile<64x16xf32> {
  ^bb0(%i: f32):
    %m = arith.mulf %i, %i : f32
    tile.yield %m : f32
  }
  %both = tile.map %phi, %a : !tile.tile<64x16xf32>, !tile.tile<64x16xf32> -> !tile.tile<64x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %m = arith.addf %i, %j : f32
    tile.yield %m : f32
  }
  %zero = tile.constant 0.0 : !tile.tile<32x16xf32>
  %s = scf.for %f = %c0 to %c64 step %c32 iter_args(%sum = %zero) -> (!tile.tile<32x16xf32>) {
    %window = tile.slice %both[%f, %c0] : !tile.tile<64x16xf32> -> !tile.tile<32x16xf32>
    %next = tile.map %window, %sum : !tile.tile<32x16xf32>, !tile.tile<32x16xf32> -> !tile.tile<32x16xf32> {
    ^bb0(%i: f32, %j: f32):
      %m = arith.addf %i, %j : f32
      tile.yield %m : f32
    }
    scf.yield %next : !tile.tile<32x16xf32>
  }
  %empty = arith.cmpi eq, %length, %c0 : index
  scf.if %empty {
    %t2 = tile.transpose %phi : !tile.tile<64x16xf32> -> !tile.tile<16x64xf32>
    tile.store %t2, %p[%batch, %c32, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32>
  }
  tile.store %s, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<32x16xf32>, memref<?x?x?x16xf32>
}

// Rows of a buffer are what they were when they were read, which the loop changes. Two windows beside what they are of are two of its
// parts, and may be the same.
// CHECK-LABEL: tile.kernel @whole
// CHECK: %[[OLD:.*]] = {{(tile\.)?}}map
// CHECK: %[[PARTS:.*]] = {{(tile\.)?}}map
// CHECK: {{(tile\.)?}}slice %[[PARTS]]
// CHECK: {{(tile\.)?}}slice %[[PARTS]]
// CHECK: scf.for
// CHECK: {{(tile\.)?}}slice %[[OLD]]
tile.kernel @whole programs [dim(0, 0)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x64xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %buffer = tile.buffer : !tile.buffer<64x16>
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xf32> -> !tile.tile<64x16xf32>
  tile.write %x, %buffer[%c0] : !tile.tile<64x16xf32>, !tile.buffer<64x16>
  %rows = tile.read %buffer[%c0] : !tile.buffer<64x16> -> !tile.tile<64x16xf32>
  %old = tile.map %rows : !tile.tile<64x16xf32> -> !tile.tile<64x16xf32> {
  ^bb0(%i: f32):
    %m = arith.addf %i, %i : f32
    tile.yield %m : f32
  }
  %parts = tile.map %x : !tile.tile<64x16xf32> -> !tile.tile<64x16xf32> {
  ^bb0(%i: f32):
    %m = arith.mulf %i, %i : f32
    tile.yield %m : f32
  }
  %first = tile.slice %parts[%c0, %c0] : !tile.tile<64x16xf32> -> !tile.tile<32x16xf32>
  %second = tile.slice %parts[%c16, %c0] : !tile.tile<64x16xf32> -> !tile.tile<32x16xf32>
  %begin = tile.map %first, %second : !tile.tile<32x16xf32>, !tile.tile<32x16xf32> -> !tile.tile<32x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %m = arith.addf %i, %j : f32
    tile.yield %m : f32
  }
  scf.for %f = %c0 to %c64 step %c32 {
    %window = tile.slice %old[%f, %c0] : !tile.tile<64x16xf32> -> !tile.tile<32x16xf32>
    %sum = tile.map %window, %begin : !tile.tile<32x16xf32>, !tile.tile<32x16xf32> -> !tile.tile<32x16xf32> {
    ^bb0(%i: f32, %j: f32):
      %m = arith.addf %i, %j : f32
      tile.yield %m : f32
    }
    tile.write %sum, %buffer[%f] : !tile.tile<32x16xf32>, !tile.buffer<64x16>
  }
  %all = tile.read %buffer[%c0] : !tile.buffer<64x16> -> !tile.tile<64x16xf32>
  tile.store %all, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x16xf32>, memref<?x?x?x16xf32>
}
