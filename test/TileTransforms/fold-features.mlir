// RUN: polyattn-opt %s --tile-fold-features --canonicalize --cse | FileCheck %s

// Rows of two tiles with weights, of which those of the larger one are one, are the rows of the tiles: nothing copies
// them all. Products, other rows, and a weight of the larger tile stay as they are.

// CHECK-LABEL: tile.kernel @rows
// CHECK: %[[A:.*]] = {{(tile\.)?}}load %a
// CHECK: %[[B:.*]] = {{(tile\.)?}}load %b
// CHECK: %[[AB:.*]] = {{(tile\.)?}}concat %[[A]], %[[B]]
// CHECK: store %[[AB]]
// CHECK: %[[LESS:.*]] = {{(tile\.)?}}constant -1.0{{.*}} : <1x16xf32>
// CHECK: %[[A1:.*]] = {{(tile\.)?}}concat %[[A]], %[[LESS]]
// CHECK: store %[[A1]]
// CHECK: %[[MINUS:.*]] = {{(tile\.)?}}map %[[B]]
// CHECK: arith.mulf %{{.*}}, %cst
// CHECK: %[[SIGNED:.*]] = {{(tile\.)?}}concat %[[A]], %[[MINUS]]
// CHECK: store %[[SIGNED]]
// CHECK: %[[SQUARES:.*]] = {{(tile\.)?}}monomials
// CHECK: store %[[SQUARES]]
// CHECK: %[[OTHERS:.*]] = {{(tile\.)?}}monomials
// CHECK: store %[[OTHERS]]
// CHECK: %[[TWICE:.*]] = {{(tile\.)?}}monomials
// CHECK: store %[[TWICE]]
tile.kernel @rows programs [dim(0, 0)] attributes {arg_names = ["a", "b", "o"], num_inputs = 2} {
^bb0(%a: memref<?x?x?x2xf32>, %b: memref<?x?x?x1xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x2xf32> -> !tile.tile<2x16xf32>
  %y = tile.load %b[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x1xf32> -> !tile.tile<1x16xf32>
  %one = tile.constant 1.0 : !tile.tile<1x16xf32>
  %xy = tile.concat %x, %y : !tile.tile<2x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<3x16xf32>
  %x1 = tile.concat %x, %one : !tile.tile<2x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<3x16xf32>
  %same = tile.monomials %xy[%c0] {table = dense<[[0], [1], [2]]> : tensor<3x1xi32>} : !tile.tile<3x16xf32> -> !tile.tile<3x16xf32>
  tile.store %same, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<3x16xf32>, memref<?x?x?x16xf32>
  %less = tile.monomials %x1[%c0] {table = dense<[[0], [1], [2]]> : tensor<3x1xi32>, weights = array<f64: 1.0, 1.0, -1.0>} : !tile.tile<3x16xf32> -> !tile.tile<3x16xf32>
  tile.store %less, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<3x16xf32>, memref<?x?x?x16xf32>
  %signs = tile.constant_column {values = array<f64: 1.0, 1.0, -1.0>} : !tile.tile<3x1xf32>
  %signed = tile.map %xy, %signs : !tile.tile<3x16xf32>, !tile.tile<3x1xf32> -> !tile.tile<3x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    tile.yield %p : f32
  }
  tile.store %signed, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<3x16xf32>, memref<?x?x?x16xf32>
  %squares = tile.monomials %xy[%c0] {table = dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi32>} : !tile.tile<3x16xf32> -> !tile.tile<3x16xf32>
  tile.store %squares, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<3x16xf32>, memref<?x?x?x16xf32>
  %others = tile.monomials %xy[%c0] {table = dense<[[1], [0], [2]]> : tensor<3x1xi32>} : !tile.tile<3x16xf32> -> !tile.tile<3x16xf32>
  tile.store %others, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<3x16xf32>, memref<?x?x?x16xf32>
  %twice = tile.monomials %xy[%c0] {table = dense<[[0], [1], [2]]> : tensor<3x1xi32>, weights = array<f64: 2.0, 2.0, 1.0>} : !tile.tile<3x16xf32> -> !tile.tile<3x16xf32>
  tile.store %twice, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<3x16xf32>, memref<?x?x?x16xf32>
}
