// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s
// RUN: polyattn-opt --mlir-print-op-generic %s | polyattn-opt | FileCheck %s
// Every op of the tile dialect and each of its forms.

// CHECK-LABEL: tile.kernel @ops programs [segments - 1, dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "o"], num_inputs = 1 : i64} {
tile.kernel @ops programs [segments - 1, dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "o"], num_inputs = 1} {
// CHECK-NEXT: ^bb0(%x: memref<?x?x?x8xbf16>, %o: memref<?x?x?x8xf32>):
^bb0(%x: memref<?x?x?x8xbf16>, %o: memref<?x?x?x8xf32>):
  // CHECK: %segment = program_id 0 : index
  %s0 = tile.program_id 0 : index
  // CHECK: %batch = program_id 1 : index
  %batch = tile.program_id 1 : index
  // CHECK: %head = program_id 2 : index
  %head = tile.program_id 2 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index

  // CHECK: load %x[%batch, %{{.*}}, %head, %{{.*}}] {col_dim = 3 : i64, row_dim = 1 : i64} : memref<?x?x?x8xbf16> -> <4x8xf32>
  %a = tile.load %x[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xbf16> -> !tile.tile<4x8xf32>
  // CHECK: load %x[%batch, %{{.*}}, %head, %{{.*}}] valid %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64, transposed} : memref<?x?x?x8xbf16> -> <8x4xf32>
  %b = tile.load %x[%batch, %c0, %head, %c0] valid %c1 {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xbf16> -> !tile.tile<8x4xf32>
  // CHECK: load %x{{.*}} row_dim = -1 : i64} : memref<?x?x?x8xbf16> -> <1x8xf32>
  %row = tile.load %x[%batch, %c0, %head, %c0] {row_dim = -1, col_dim = 3} : memref<?x?x?x8xbf16> -> !tile.tile<1x8xf32>

  // CHECK: constant 2.500000e+00 : <1x1xf32>
  %half = tile.constant 2.5 : !tile.tile<1x1xf32>
  // CHECK: constant_column {values = array<f64: 1.000000e+00, 2.000000e+00>} : <2x1xf32>
  %column = tile.constant_column {values = array<f64: 1.0, 2.0>} : !tile.tile<2x1xf32>
  // CHECK: iota %{{.*}} : <1x4xf32>
  %positions = tile.iota %c1 : !tile.tile<1x4xf32>

  // CHECK: %[[P:.*]] = dot %{{.*}}, %{{.*}} : <4x8xf32>, <8x4xf32> -> <4x4xf32>
  %p = tile.dot %a, %b : !tile.tile<4x8xf32>, !tile.tile<8x4xf32> -> !tile.tile<4x4xf32>
  // CHECK: dot %{{.*}}, %{{.*}} acc %[[P]] : !tile.tile<4x4xf32> bound %{{.*}} {lhs_transposed, lower} : <8x4xf32>, <8x4xf32> -> <4x4xf32>
  %s = tile.dot %b, %b acc %p : !tile.tile<4x4xf32> bound %c1 {lhs_transposed, lower} : !tile.tile<8x4xf32>, !tile.tile<8x4xf32> -> !tile.tile<4x4xf32>
  // CHECK: dot %{{.*}}, %{{.*}} acc %[[P]] : !tile.tile<4x4xf32> bound %{{.*}} precision <split_tf32> : <4x8xf32>, <8x4xf32> -> <4x4xf32>
  %split = tile.dot %a, %b acc %p : !tile.tile<4x4xf32> bound %c1 precision <split_tf32> : !tile.tile<4x8xf32>, !tile.tile<8x4xf32> -> !tile.tile<4x4xf32>
  // CHECK: %{{.*}}:2 = pack %{{.*}} : <8x4xf32> -> !tile.tile<8x4xbf16>, !tile.tile<8x4xbf16, row_pairs>
  %rows, %pairs = tile.pack %b : !tile.tile<8x4xf32> -> !tile.tile<8x4xbf16>, !tile.tile<8x4xbf16, row_pairs>
  // CHECK: %[[H:.*]] = map %{{.*}} : !tile.tile<8x4xf32> -> <8x4xbf16>
  %h = tile.map %b : !tile.tile<8x4xf32> -> !tile.tile<8x4xbf16> {
  ^bb0(%u: f32):
    %r = arith.truncf %u : f32 to bf16
    tile.yield %r : bf16
  }
  // CHECK: dot %{{.*}}, %[[H]] precision <bf16> : <4x8xf32>, <8x4xbf16> -> <4x4xf32>
  %mixed = tile.dot %a, %h precision <bf16> : !tile.tile<4x8xf32>, !tile.tile<8x4xbf16> -> !tile.tile<4x4xf32>
  // CHECK: load %x{{.*}} -> <4x8xf16>
  %half_load = tile.load %x[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xbf16> -> !tile.tile<4x8xf16>
  // CHECK: causal_mask %{{.*}} : <4x4xf32>
  %m = tile.causal_mask %s : !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  // CHECK: dot %{{.*}} {lower_lhs} : <4x4xf32>, <4x8xf32> -> <4x8xf32>
  %n = tile.dot %m, %a {lower_lhs} : !tile.tile<4x4xf32>, !tile.tile<4x8xf32> -> !tile.tile<4x8xf32>
  // CHECK: causal_mask %{{.*}} {upper} : <4x4xf32>
  %m2 = tile.causal_mask %s {upper} : !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  // CHECK: dot %{{.*}} {upper_lhs} : <4x4xf32>, <4x8xf32> -> <4x8xf32>
  %n2 = tile.dot %m2, %a {upper_lhs} : !tile.tile<4x4xf32>, !tile.tile<4x8xf32> -> !tile.tile<4x8xf32>

  // CHECK: %[[Y:.*]] = map %{{.*}}, %{{.*}} : !tile.tile<4x8xf32>, !tile.tile<1x8xf32> -> <4x8xf32> {
  // CHECK: yield %{{.*}} : f32
  %y = tile.map %n, %row : !tile.tile<4x8xf32>, !tile.tile<1x8xf32> -> !tile.tile<4x8xf32> {
  ^bb0(%u: f32, %v: f32):
    %r = arith.mulf %u, %v : f32
    tile.yield %r : f32
  }
  // CHECK: reduce <add> <rows> %[[Y]] : <4x8xf32> -> <1x8xf32>
  %sum = tile.reduce <add> <rows> %y : !tile.tile<4x8xf32> -> !tile.tile<1x8xf32>
  // CHECK: reduce <max> <columns> %{{.*}} bound %{{.*}} {lower} : <4x4xf32> -> <4x1xf32>
  %max = tile.reduce <max> <columns> %s bound %c1 {lower} : !tile.tile<4x4xf32> -> !tile.tile<4x1xf32>
  // CHECK: cumulative_sum %{{.*}} : <1x4xf32>
  %running, %rest = tile.cumulative_sum %positions : !tile.tile<1x4xf32>
  // CHECK: monomials %{{.*}}[%{{.*}}] {table = dense<{{.*}}> : tensor<3x2xi32>, weights = array<f64: {{.*}}>} : <8x4xf32> -> <2x4xf32>
  %phi = tile.monomials %b[%c1] {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>, weights = array<f64: 1.0, 2.0, 1.0>} : !tile.tile<8x4xf32> -> !tile.tile<2x4xf32>
  // CHECK: contract %{{.*}}, %{{.*}}[%{{.*}}] acc %{{.*}} {table = dense<{{.*}}> : tensor<3x2xi32>, weights = array<f64: {{.*}}>} : <2x4xf32>, <8x4xf32>
  %contracted = tile.contract %phi, %b[%c1] acc %b {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>, weights = array<f64: 0.5, 1.0, 0.5>} : !tile.tile<2x4xf32>, !tile.tile<8x4xf32>
  // CHECK: toeplitz %{{.*}} : <4x1xf32> -> <3x2xf32>
  %toeplitz = tile.toeplitz %max : !tile.tile<4x1xf32> -> !tile.tile<3x2xf32>
  // CHECK: toeplitz %{{.*}} {transposed} : <4x1xf32> -> <1x4xf32>
  %ascending = tile.toeplitz %max {transposed} : !tile.tile<4x1xf32> -> !tile.tile<1x4xf32>
  // CHECK: diagonal_sums %{{.*}} : <4x8xf32> -> <11x1xf32>
  %diagonals = tile.diagonal_sums %y : !tile.tile<4x8xf32> -> !tile.tile<11x1xf32>
  // CHECK: diagonal_sums %{{.*}} {transposed} : <4x8xf32> -> <11x1xf32>
  %reversed = tile.diagonal_sums %y {transposed} : !tile.tile<4x8xf32> -> !tile.tile<11x1xf32>
  // CHECK: slice %{{.*}}[%{{.*}}, %{{.*}}] : <4x8xf32> -> <2x4xf32>
  %slice = tile.slice %y[%c0, %c1] : !tile.tile<4x8xf32> -> !tile.tile<2x4xf32>
  // CHECK: concat %{{.*}}, %{{.*}} : !tile.tile<2x4xf32>, !tile.tile<1x4xf32> -> <3x4xf32>
  %stacked = tile.concat %slice, %running : !tile.tile<2x4xf32>, !tile.tile<1x4xf32> -> !tile.tile<3x4xf32>
  // CHECK: select_rows %{{.*}} {rows = array<i64: 2, 0>} : <3x4xf32> -> <2x4xf32>
  %selected = tile.select_rows %stacked {rows = array<i64: 2, 0>} : !tile.tile<3x4xf32> -> !tile.tile<2x4xf32>
  // CHECK: transpose %{{.*}} : <2x4xf32> -> <4x2xf32>
  %transposed = tile.transpose %selected : !tile.tile<2x4xf32> -> !tile.tile<4x2xf32>

  // CHECK: %[[B:.*]] = buffer : <16x8>
  %buffer = tile.buffer : !tile.buffer<16x8>
  // CHECK: read %[[B]][%{{.*}}] : <16x8> -> <4x8xf32>
  %read = tile.read %buffer[%c0] : !tile.buffer<16x8> -> !tile.tile<4x8xf32>
  // CHECK: write %{{.*}}, %[[B]][%{{.*}}] : <4x8xf32>, <16x8>
  tile.write %y, %buffer[%c1] : !tile.tile<4x8xf32>, !tile.buffer<16x8>
  // CHECK: accumulate %{{.*}}, %{{.*}}, %[[B]][%{{.*}}] : <4x4xf32>, <4x8xf32>, <16x8>
  tile.accumulate %m, %a, %buffer[%c0] : !tile.tile<4x4xf32>, !tile.tile<4x8xf32>, !tile.buffer<16x8>
  // CHECK: accumulate %{{.*}}, %{{.*}}, %[[B]][%{{.*}}] factor %{{.*}} : !tile.tile<1x1xf32> precision <bf16> : <4x4xf32>, <4x8xf32>, <16x8>
  tile.accumulate %m, %a, %buffer[%c0] factor %half : !tile.tile<1x1xf32> precision <bf16> : !tile.tile<4x4xf32>, !tile.tile<4x8xf32>, !tile.buffer<16x8>
  // CHECK: accumulate %{{.*}}, %{{.*}}, %[[B]][%{{.*}}] bound %{{.*}} factor %{{.*}} : !tile.tile<1x1xf32> : <4x4xf32>, <4x8xf32>, <16x8>
  tile.accumulate %m, %a, %buffer[%c0] bound %c1 factor %half : !tile.tile<1x1xf32> : !tile.tile<4x4xf32>, !tile.tile<4x8xf32>, !tile.buffer<16x8>
  // CHECK: recur %{{.*}} key %{{.*}} value %{{.*}}, %o[%batch, %{{.*}}, %head, %{{.*}}] factor %{{.*}} acc %{{.*}} : (!tile.tile<1x4xf32>, !tile.tile<1x4xf32>, !tile.tile<1x8xf32>, memref<?x?x?x8xf32>, index, index, index, index, !tile.tile<1x1xf32>, !tile.tile<1x8xf32>) -> !tile.tile<1x8xf32>
  %recurred = tile.recur %running key %positions value %sum, %o[%batch, %c0, %head, %c0] factor %half acc %sum : (!tile.tile<1x4xf32>, !tile.tile<1x4xf32>, !tile.tile<1x8xf32>, memref<?x?x?x8xf32>, index, index, index, index, !tile.tile<1x1xf32>, !tile.tile<1x8xf32>) -> !tile.tile<1x8xf32>
  // CHECK: recur %{{.*}}, %o[%batch, %{{.*}}, %head, %{{.*}}] : (!tile.tile<1x4xf32>, memref<?x?x?x8xf32>, index, index, index, index) -> !tile.tile<1x8xf32>
  %read_only = tile.recur %running, %o[%batch, %c0, %head, %c0] : (!tile.tile<1x4xf32>, memref<?x?x?x8xf32>, index, index, index, index) -> !tile.tile<1x8xf32>
  // CHECK: recur %{{.*}} key %{{.*}} value %{{.*}}, %o[{{.*}}] {before} : (!tile.tile<1x4xf32>, !tile.tile<1x4xf32>, !tile.tile<1x8xf32>, memref<?x?x?x8xf32>, index, index, index, index) -> !tile.tile<1x8xf32>
  %read_before = tile.recur %running key %positions value %sum, %o[%batch, %c0, %head, %c0] {before} : (!tile.tile<1x4xf32>, !tile.tile<1x4xf32>, !tile.tile<1x8xf32>, memref<?x?x?x8xf32>, index, index, index, index) -> !tile.tile<1x8xf32>
  // CHECK: store %[[Y]], %o[%batch, %{{.*}}, %head, %{{.*}}] valid %{{.*}} {col_dim = 3 : i64, row_dim = 1 : i64} : <4x8xf32>, memref<?x?x?x8xf32>
  tile.store %y, %o[%batch, %c0, %head, %c0] valid %c1 {row_dim = 1, col_dim = 3} : !tile.tile<4x8xf32>, memref<?x?x?x8xf32>
}

// CHECK: tile.kernel @spectra
tile.kernel @spectra programs [dim(0, 0)] attributes {arg_names = ["x", "z", "r", "v"], num_inputs = 0} {
^bb0(%x: memref<?x?x32xf32>, %z: memref<?x32xf32>, %r: memref<?x2xf32>, %v: memref<2x?x?x32xf32>):
  %batch = tile.program_id 0 : index
  // CHECK: %[[N:.*]] = power_of_two %batch : index
  %n = tile.power_of_two %batch : index
  // CHECK: fourier_roots %r rows %[[N]] : memref<?x2xf32>
  tile.fourier_roots %r rows %n : memref<?x2xf32>
  // CHECK: fourier %x[%batch] rows %[[N]] roots %r {half} : memref<?x?x32xf32>, memref<?x2xf32>
  tile.fourier %x[%batch] rows %n roots %r {half} : memref<?x?x32xf32>, memref<?x2xf32>
  // CHECK: fourier %z[] rows %[[N]] roots %r : memref<?x32xf32>, memref<?x2xf32>
  tile.fourier %z[] rows %n roots %r : memref<?x32xf32>, memref<?x2xf32>
  // CHECK: multiply_spectra %x[%batch], %z[] to %x[%batch] rows %[[N]] : memref<?x?x32xf32>, memref<?x32xf32>, memref<?x?x32xf32>
  tile.multiply_spectra %x[%batch], %z[] to %x[%batch] rows %n : memref<?x?x32xf32>, memref<?x32xf32>, memref<?x?x32xf32>
  // CHECK: multiply_spectra %x[%batch], %z[] to %v[%batch, %batch] rows %[[N]] {accumulate, conjugate} : memref<?x?x32xf32>, memref<?x32xf32>, memref<2x?x?x32xf32>
  tile.multiply_spectra %x[%batch], %z[] to %v[%batch, %batch] rows %n {accumulate, conjugate} : memref<?x?x32xf32>, memref<?x32xf32>, memref<2x?x?x32xf32>
  // CHECK: fourier %v[%batch, %batch] rows %[[N]] roots %r {half, inverse} : memref<2x?x?x32xf32>, memref<?x2xf32>
  tile.fourier %v[%batch, %batch] rows %n roots %r {half, inverse} : memref<2x?x?x32xf32>, memref<?x2xf32>
}

// CHECK: tile.kernel @cluster programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["o"], cluster = 2 : i64, num_inputs = 0 : i64}
tile.kernel @cluster programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["o"], num_inputs = 0, cluster = 2} {
^bb0(%o: memref<?x?x?x8xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  // CHECK: %[[RANK:.*]] = cluster_rank : index
  %rank = tile.cluster_rank : index
  %row = tile.iota %rank : !tile.tile<1x8xf32>
  // CHECK: %[[SUM:.*]] = cluster_sum %{{.*}} : <1x8xf32>
  %sum = tile.cluster_sum %row : !tile.tile<1x8xf32>
  // CHECK: store %[[SUM]], %o
  tile.store %sum, %o[%batch, %rank, %head, %rank] {row_dim = -1, col_dim = 3} : !tile.tile<1x8xf32>, memref<?x?x?x8xf32>
}
