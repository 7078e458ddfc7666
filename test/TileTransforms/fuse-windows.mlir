// RUN: polyattn-opt %s --tile-reuse-windows --cse | FileCheck %s

// Columns of a projection's weights give rows of the projection, and a function of two such gives rows of
// the features: the loop reads all of them.

// CHECK-LABEL: tile.kernel @before
// CHECK: %[[A:.*]] = {{(tile\.)?}}dot %{{.*}}, %{{.*}} {lhs_transposed} : <8x64xf32>, <8x16xf32> -> <64x16xf32>
// CHECK: %[[B:.*]] = {{(tile\.)?}}dot
// CHECK: %[[PHI:.*]] = {{(tile\.)?}}map %[[A]], %[[B]]
// CHECK: scf.for %[[F:.*]] = %{{.*}} iter_args
// CHECK-NOT: dot {{.*}} {lhs_transposed}
// CHECK: %[[WINDOW:.*]] = {{(tile\.)?}}slice %[[PHI]][%[[F]], %{{.*}}] : <64x16xf32> -> <32x16xf32>
// CHECK: {{(tile\.)?}}dot %{{.*}}, %[[WINDOW]] acc
tile.kernel @before programs [dim(0, 0)] attributes {arg_names = ["q", "u", "w", "o"], num_inputs = 3} {
^bb0(%q: memref<?x?x?x8xf32>, %u: memref<8x64xf32>, %w: memref<8x64xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %tu = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %tw = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %a = tile.dot %tu, %x {lhs_transposed} : !tile.tile<8x64xf32>, !tile.tile<8x16xf32> -> !tile.tile<64x16xf32>
  %b = tile.dot %tw, %x {lhs_transposed} : !tile.tile<8x64xf32>, !tile.tile<8x16xf32> -> !tile.tile<64x16xf32>
  %phi = tile.map %a, %b : !tile.tile<64x16xf32>, !tile.tile<64x16xf32> -> !tile.tile<64x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    tile.yield %p : f32
  }
  %t = tile.transpose %phi : !tile.tile<64x16xf32> -> !tile.tile<16x64xf32>
  %zero = tile.constant 0.0 : !tile.tile<16x16xf32>
  %s = scf.for %f = %c0 to %c64 step %c32 iter_args(%sum = %zero) -> (!tile.tile<16x16xf32>) {
    %wu = tile.slice %tu[%c0, %f] : !tile.tile<8x64xf32> -> !tile.tile<8x32xf32>
    %ww = tile.slice %tw[%c0, %f] : !tile.tile<8x64xf32> -> !tile.tile<8x32xf32>
    %da = tile.dot %wu, %x {lhs_transposed} : !tile.tile<8x32xf32>, !tile.tile<8x16xf32> -> !tile.tile<32x16xf32>
    %db = tile.dot %ww, %x {lhs_transposed} : !tile.tile<8x32xf32>, !tile.tile<8x16xf32> -> !tile.tile<32x16xf32>
    %window = tile.map %da, %db : !tile.tile<32x16xf32>, !tile.tile<32x16xf32> -> !tile.tile<32x16xf32> {
    ^bb0(%i: f32, %j: f32):
      %p = arith.mulf %i, %j : f32
      tile.yield %p : f32
    }
    %rows = tile.slice %t[%c0, %f] : !tile.tile<16x64xf32> -> !tile.tile<16x32xf32>
    %next = tile.dot %rows, %window acc %sum : !tile.tile<16x16xf32> : !tile.tile<16x32xf32>, !tile.tile<32x16xf32> -> !tile.tile<16x16xf32>
    scf.yield %next : !tile.tile<16x16xf32>
  }
  tile.store %s, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xf32>
}

// What is needed behind the loop under a condition is computed before it. The other product, of rows
// of the transposed weights, has another number of terms there and stays; so does the function of
// both, as one of its operands is no window of anything.

// CHECK-LABEL: tile.kernel @behind
// CHECK: %[[A:.*]] = {{(tile\.)?}}dot %{{.*}}, %{{.*}} {lhs_transposed} : <8x64xf32>, <8x16xf32> -> <64x16xf32>
// CHECK: scf.for %[[F:.*]] = %{{.*}} iter_args
// CHECK: %[[WINDOW:.*]] = {{(tile\.)?}}slice %[[A]][%[[F]], %{{.*}}] : <64x16xf32> -> <32x16xf32>
// CHECK: %[[OTHER:.*]] = {{(tile\.)?}}dot {{.*}} : <32x4xf32>, <4x16xf32> -> <32x16xf32>
// CHECK: {{(tile\.)?}}map %[[WINDOW]], %[[OTHER]]
// CHECK: scf.if
// CHECK: {{(tile\.)?}}transpose %[[A]]
tile.kernel @behind programs [dim(0, 0)] attributes {arg_names = ["q", "u", "w", "o", "p"], num_inputs = 3} {
^bb0(%q: memref<?x?x?x8xf32>, %u: memref<8x64xf32>, %w: memref<64x8xf32>, %o: memref<?x?x?x16xf32>,
     %p: memref<?x?x?x64xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c1 = arith.constant 1 : index
  %length = memref.dim %q, %c1 : memref<?x?x?x8xf32>
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %tu = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %tw = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x8xf32> -> !tile.tile<64x8xf32>
  %few = tile.slice %x[%c0, %c0] : !tile.tile<8x16xf32> -> !tile.tile<4x16xf32>
  %zero = tile.constant 0.0 : !tile.tile<32x16xf32>
  %s = scf.for %f = %c0 to %c64 step %c32 iter_args(%sum = %zero) -> (!tile.tile<32x16xf32>) {
    %wu = tile.slice %tu[%c0, %f] : !tile.tile<8x64xf32> -> !tile.tile<8x32xf32>
    %ww = tile.slice %tw[%f, %c0] : !tile.tile<64x8xf32> -> !tile.tile<32x4xf32>
    %da = tile.dot %wu, %x {lhs_transposed} : !tile.tile<8x32xf32>, !tile.tile<8x16xf32> -> !tile.tile<32x16xf32>
    %db = tile.dot %ww, %few : !tile.tile<32x4xf32>, !tile.tile<4x16xf32> -> !tile.tile<32x16xf32>
    %next = tile.map %da, %db, %sum : !tile.tile<32x16xf32>, !tile.tile<32x16xf32>, !tile.tile<32x16xf32> -> !tile.tile<32x16xf32> {
    ^bb0(%i: f32, %j: f32, %k: f32):
      %m = arith.mulf %i, %j : f32
      %n = arith.addf %m, %k : f32
      tile.yield %n : f32
    }
    scf.yield %next : !tile.tile<32x16xf32>
  }
  %all = tile.dot %tw, %x : !tile.tile<64x8xf32>, !tile.tile<8x16xf32> -> !tile.tile<64x16xf32>
  %empty = arith.cmpi eq, %length, %c0 : index
  scf.if %empty {
    %a = tile.dot %tu, %x {lhs_transposed} : !tile.tile<8x64xf32>, !tile.tile<8x16xf32> -> !tile.tile<64x16xf32>
    %sum = tile.map %a, %all : !tile.tile<64x16xf32>, !tile.tile<64x16xf32> -> !tile.tile<64x16xf32> {
    ^bb0(%i: f32, %j: f32):
      %n = arith.addf %i, %j : f32
      tile.yield %n : f32
    }
    %t = tile.transpose %a : !tile.tile<64x16xf32> -> !tile.tile<16x64xf32>
    %u2 = tile.transpose %sum : !tile.tile<64x16xf32> -> !tile.tile<16x64xf32>
    tile.store %t, %p[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32>
    tile.store %u2, %p[%batch, %c32, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x64xf32>, memref<?x?x?x64xf32>
  }
  tile.store %s, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<32x16xf32>, memref<?x?x?x16xf32>
}
