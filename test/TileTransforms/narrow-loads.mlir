// RUN: polyattn-opt %s --tile-narrow-loads | FileCheck %s

// Of the first weight all slices are in the program's columns; a vector has its elements; one slice of the last is of features that all
// programs have.
// CHECK-LABEL: tile.kernel @share
// CHECK: %[[RANK:.*]] = {{(tile\.)?}}cluster_rank
// CHECK: %[[FIRST:.*]] = arith.muli %[[RANK]], %{{.*}}
// CHECK: %[[U:.*]] = {{(tile\.)?}}load %u[%{{.*}}, %[[FIRST]]] {{.*}} -> <8x32xf32>
// CHECK: %[[B:.*]] = {{(tile\.)?}}load %b[%[[FIRST]]] {{.*}} -> <32x1xf32>
// CHECK: %[[W:.*]] = {{(tile\.)?}}load %w[%{{.*}}, %{{[^F]*}}] {{.*}} -> <8x64xf32>
// CHECK: scf.for %[[F:[a-z0-9]*]] =
// CHECK: {{(tile\.)?}}slice %[[U]][%{{.*}}, %[[F]]] : <8x32xf32> -> <8x16xf32>
// CHECK: {{(tile\.)?}}slice %[[B]][%[[F]], %{{.*}}] : <32x1xf32> -> <16x1xf32>
// CHECK: {{(tile\.)?}}slice %[[W]][%{{.*}}, %{{.*}}] : <8x64xf32> -> <8x16xf32>
tile.kernel @share programs [dim(0, 0)] attributes {arg_names = ["q", "u", "b", "w", "o"], num_inputs = 4, cluster = 2} {
^bb0(%q: memref<?x?x?x8xf32>, %u: memref<8x64xf32>, %b: memref<64xf32>, %w: memref<8x64xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %tu = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %tb = tile.load %b[%c0] {row_dim = 0, col_dim = -1} : memref<64xf32> -> !tile.tile<64x1xf32>
  %tw = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %rank = tile.cluster_rank : index
  %first = arith.muli %rank, %c32 : index
  %zero = tile.constant 0.0 : !tile.tile<16x16xf32>
  %all = tile.slice %tw[%c0, %c0] : !tile.tile<8x64xf32> -> !tile.tile<8x16xf32>
  %begin = tile.dot %all, %x acc %zero : !tile.tile<16x16xf32> {lhs_transposed} : !tile.tile<8x16xf32>, !tile.tile<8x16xf32> -> !tile.tile<16x16xf32>
  %s = scf.for %f = %c0 to %c32 step %c16 iter_args(%sum = %begin) -> (!tile.tile<16x16xf32>) {
    %feature = arith.addi %first, %f : index
    %wu = tile.slice %tu[%c0, %feature] : !tile.tile<8x64xf32> -> !tile.tile<8x16xf32>
    %wb = tile.slice %tb[%feature, %c0] : !tile.tile<64x1xf32> -> !tile.tile<16x1xf32>
    %ww = tile.slice %tw[%c0, %feature] : !tile.tile<8x64xf32> -> !tile.tile<8x16xf32>
    %p = tile.dot %wu, %x acc %sum : !tile.tile<16x16xf32> {lhs_transposed} : !tile.tile<8x16xf32>, !tile.tile<8x16xf32> -> !tile.tile<16x16xf32>
    %r = tile.dot %ww, %x acc %p : !tile.tile<16x16xf32> {lhs_transposed} : !tile.tile<8x16xf32>, !tile.tile<8x16xf32> -> !tile.tile<16x16xf32>
    %next = tile.map %r, %wb : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> !tile.tile<16x16xf32> {
    ^bb0(%i: f32, %j: f32):
      %n = arith.addf %i, %j : f32
      tile.yield %n : f32
    }
    scf.yield %next : !tile.tile<16x16xf32>
  }
  %whole = tile.cluster_sum %s : !tile.tile<16x16xf32>
  tile.store %whole, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xf32>
}

// The loop goes on into the share of the next program.
// CHECK-LABEL: tile.kernel @beyond
// CHECK: {{(tile\.)?}}load %u[{{.*}}] {{.*}} -> <8x64xf32>
tile.kernel @beyond programs [dim(0, 0)] attributes {arg_names = ["u", "o"], num_inputs = 1, cluster = 2} {
^bb0(%u: memref<8x64xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %tu = tile.load %u[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x64xf32> -> !tile.tile<8x64xf32>
  %rank = tile.cluster_rank : index
  %first = arith.muli %rank, %c32 : index
  scf.for %f = %c0 to %c40 step %c16 {
    %feature = arith.addi %first, %f : index
    %wu = tile.slice %tu[%c0, %feature] : !tile.tile<8x64xf32> -> !tile.tile<8x16xf32>
    tile.store %wu, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<8x16xf32>, memref<?x?x?x16xf32>
  }
}

// Both columns of a tensor are read one by one, as rows: each is a load. A tile of which something reads two rows, and
// one whose rows count as positions, stay whole.
// CHECK-LABEL: tile.kernel @lines
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: {{(tile\.)?}}load %f[%{{.*}}, %{{.*}}, %[[ZERO]], %c1{{[_0-9]*}}] valid %{{.*}}transposed} {{.*}} -> <1x16xf32>
// CHECK: {{(tile\.)?}}load %f[%{{.*}}, %{{.*}}, %[[ZERO]], %[[ZERO]]] valid %{{.*}}transposed} {{.*}} -> <1x16xf32>
// CHECK: {{(tile\.)?}}load %g[{{.*}} -> <4x16xf32>
// CHECK: {{(tile\.)?}}load %g[{{.*}} -> <16x4xf32>
// CHECK-NOT: load
tile.kernel @lines programs [dim(0, 0)] attributes {arg_names = ["f", "g", "o"], num_inputs = 2} {
^bb0(%f: memref<?x?x?x2xf32>, %g: memref<?x?x?x4xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %f, %c1 : memref<?x?x?x2xf32>
  %two = tile.load %f[%batch, %c0, %c0, %c0] valid %n {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x2xf32> -> !tile.tile<2x16xf32>
  %four = tile.load %g[%batch, %c0, %c0, %c0] valid %n {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x4xf32> -> !tile.tile<4x16xf32>
  %rows = tile.load %g[%batch, %c0, %c0, %c0] valid %n {row_dim = 1, col_dim = 3} : memref<?x?x?x4xf32> -> !tile.tile<16x4xf32>
  %a = tile.slice %two[%c0, %c0] : !tile.tile<2x16xf32> -> !tile.tile<1x16xf32>
  %b = tile.slice %two[%c1, %c0] : !tile.tile<2x16xf32> -> !tile.tile<1x16xf32>
  %c = tile.slice %four[%c1, %c0] : !tile.tile<4x16xf32> -> !tile.tile<1x16xf32>
  %pair = tile.slice %four[%c0, %c0] : !tile.tile<4x16xf32> -> !tile.tile<2x16xf32>
  %position = tile.slice %rows[%c1, %c0] : !tile.tile<16x4xf32> -> !tile.tile<1x4xf32>
  %sum = tile.map %a, %b, %c : !tile.tile<1x16xf32>, !tile.tile<1x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<1x16xf32> {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %x = arith.addf %i, %j : f32
    %y = arith.addf %x, %k : f32
    tile.yield %y : f32
  }
  tile.store %sum, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<1x16xf32>, memref<?x?x?x16xf32>
  tile.store %pair, %o[%batch, %c1, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<2x16xf32>, memref<?x?x?x16xf32>
  tile.store %position, %o[%batch, %c0, %c1, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<1x4xf32>, memref<?x?x?x16xf32>
}
