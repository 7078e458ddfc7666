// RUN: polyattn-opt %s --tile-fold-states --canonicalize --cse | FileCheck %s

// The rows of %s but the last one are the columns of %t. What the product has of them is S A instead of A^T S, whose
// transpose is what is wanted; the last row is gathered still.

// CHECK-LABEL: tile.kernel @other_way
// CHECK-DAG:     %[[T:.*]] = buffer : <32x8>
// CHECK-DAG:     %[[REST:.*]] = buffer : <1x32>
// CHECK-NOT:     buffer : <9x32>
// CHECK-DAG:     %[[PHI:.*]] = load %y{{.*}} transposed} {{.*}} -> <32x16xf32>
// CHECK-DAG:     %[[ROWS:.*]] = transpose %[[PHI]]
// CHECK-DAG:     %[[V:.*]] = load %v{{.*}} transposed}
// CHECK:         %[[S:.*]] = read %[[T]][%c0] : <32x8> -> <32x8xf32>
// CHECK:         %[[TURNED:.*]] = dot %[[S]], %[[V]] : {{.*}} -> <32x16xf32>
// CHECK:         %[[LAST:.*]] = read %[[REST]][%c0] : <1x32> -> <1x32xf32>
// CHECK:         %[[SUM:.*]] = dot %{{.*}}, %[[LAST]] {lhs_transposed} : <1x16xf32>, <1x32xf32> -> <16x32xf32>
// CHECK:         accumulate %{{.*}}, %[[ROWS]], %[[REST]][%c0] : <1x16xf32>, <16x32xf32>, <1x32>
// CHECK:         %[[BACK:.*]] = transpose %[[SUM]]
// CHECK:         %[[ALL:.*]] = map %[[BACK]], %[[TURNED]]
// CHECK:         accumulate %[[PHI]], %{{.*}}, %[[T]][%c0]
// CHECK-NOT:     accumulate
// CHECK:         store %[[ALL]]
tile.kernel @other_way attributes {arg_names = ["y", "x", "v", "d", "o", "p"], num_inputs = 4} {
^bb0(%y: memref<?x32xf32>, %x: memref<?x8xf32>, %v: memref<?x8xf32>, %d: memref<?x1xf32>, %o: memref<32x?xf32>, %p: memref<?x8xf32>):
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<9x32>
  %t = tile.buffer : !tile.buffer<32x8>
  %phi = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x32xf32> -> !tile.tile<32x16xf32>
  %rows = tile.transpose %phi : !tile.tile<32x16xf32> -> !tile.tile<16x32xf32>
  %columns = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x8xf32> -> !tile.tile<8x16xf32>
  %scale = tile.load %d[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x1xf32> -> !tile.tile<1x16xf32>
  %a = tile.concat %columns, %scale : !tile.tile<8x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<9x16xf32>
  %w = tile.load %v[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x8xf32> -> !tile.tile<8x16xf32>
  %b = tile.concat %w, %scale : !tile.tile<8x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<9x16xf32>
  %r = tile.read %s[%c0] : !tile.buffer<9x32> -> !tile.tile<9x32xf32>
  %sum = tile.dot %b, %r {lhs_transposed} : !tile.tile<9x16xf32>, !tile.tile<9x32xf32> -> !tile.tile<16x32xf32>
  tile.accumulate %a, %rows, %s[%c0] : !tile.tile<9x16xf32>, !tile.tile<16x32xf32>, !tile.buffer<9x32>
  %turned = tile.transpose %sum : !tile.tile<16x32xf32> -> !tile.tile<32x16xf32>
  %z = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %u = tile.read %t[%c0] : !tile.buffer<32x8> -> !tile.tile<32x8xf32>
  %n = tile.dot %phi, %u {lhs_transposed} : !tile.tile<32x16xf32>, !tile.tile<32x8xf32> -> !tile.tile<16x8xf32>
  tile.accumulate %phi, %z, %t[%c0] : !tile.tile<32x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<32x8>
  tile.store %turned, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<32x16xf32>, memref<32x?xf32>
  tile.store %n, %p[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x8xf32>, memref<?x8xf32>
}

// One is updated in a loop over its rows; the other's product has rows of a tensor, which are loaded as columns. The sum
// that it begins is stored as it is.

// CHECK-LABEL: tile.kernel @in_a_loop
// CHECK:         %[[T:.*]] = buffer : <32x8>
// CHECK-NOT:     buffer
// CHECK:         %[[V:.*]] = load %v{{.*}} transposed}
// CHECK:         %[[TURNED:.*]] = dot %{{.*}}, %[[V]] bound %{{.*}} : <32x8xf32>, <8x16xf32> -> <32x16xf32>
// CHECK-NOT:     accumulate
// CHECK:         scf.for %[[F:.*]] = %c0 to %c32 step %c16
// CHECK:           accumulate %{{.*}}, %{{.*}}, %[[T]][%[[F]]]
// CHECK-NOT:     accumulate
// CHECK:         %[[BACK:.*]] = transpose %[[TURNED]]
// CHECK:         %[[ALL:.*]] = map %{{.*}}, %[[BACK]]
// CHECK:         store %[[ALL]]
tile.kernel @in_a_loop attributes {arg_names = ["y", "x", "v", "q", "o"], num_inputs = 4} {
^bb0(%y: memref<?x32xf32>, %x: memref<?x8xf32>, %v: memref<?x8xf32>, %q: memref<?x16xf32>, %o: memref<?x32xf32>):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %q, %c0 : memref<?x16xf32>
  %s = tile.buffer : !tile.buffer<8x32>
  %phi = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x32xf32> -> !tile.tile<32x16xf32>
  %rows = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x32xf32> -> !tile.tile<16x32xf32>
  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x8xf32> -> !tile.tile<8x16xf32>
  %w = tile.load %v[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %r = tile.read %s[%c0] : !tile.buffer<8x32> -> !tile.tile<8x32xf32>
  %first = tile.dot %w, %r bound %n : !tile.tile<16x8xf32>, !tile.tile<8x32xf32> -> !tile.tile<16x32xf32>
  tile.accumulate %a, %rows, %s[%c0] : !tile.tile<8x16xf32>, !tile.tile<16x32xf32>, !tile.buffer<8x32>
  %scores = tile.load %q[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x16xf32> -> !tile.tile<16x16xf32>
  %sum = tile.dot %scores, %rows acc %first : !tile.tile<16x32xf32> : !tile.tile<16x16xf32>, !tile.tile<16x32xf32> -> !tile.tile<16x32xf32>
  %z = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %t = tile.buffer : !tile.buffer<32x8>
  scf.for %f = %c0 to %c32 step %c16 {
    %part = tile.slice %phi[%f, %c0] : !tile.tile<32x16xf32> -> !tile.tile<16x16xf32>
    tile.accumulate %part, %z, %t[%f] : !tile.tile<16x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<32x8>
  }
  tile.store %sum, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x32xf32>, memref<?x32xf32>
}

// Squares of rows are monomials of degree 2, of which another state has those of degree 1 and 0 too. Its update comes
// first and waits: nothing reads it meanwhile.

// CHECK-LABEL: tile.kernel @rows
// CHECK:         %[[T:.*]] = buffer : <6x8>
// CHECK-NOT:     buffer
// CHECK:         read %[[T]][%c3] : <6x8> -> <3x8xf32>
// CHECK:         accumulate %{{.*}}, %{{.*}}, %[[T]][%c0]
// CHECK-NOT:     accumulate
tile.kernel @rows attributes {arg_names = ["y", "x", "o"], num_inputs = 2} {
^bb0(%y: memref<?x2xf32>, %x: memref<?x8xf32>, %o: memref<?x8xf32>):
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<3x8>
  %t = tile.buffer : !tile.buffer<6x8>
  %q = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x2xf32> -> !tile.tile<2x16xf32>
  %one = tile.constant 1.0 : !tile.tile<1x16xf32>
  %z = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %with = tile.concat %q, %one : !tile.tile<2x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<3x16xf32>
  %all = tile.monomials %with[%c0] {table = dense<[[2, 2], [0, 2], [1, 2], [0, 0], [0, 1], [1, 1]]> : tensor<6x2xi32>} : !tile.tile<3x16xf32> -> !tile.tile<6x16xf32>
  tile.accumulate %all, %z, %t[%c0] : !tile.tile<6x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<6x8>
  %r = tile.read %s[%c0] : !tile.buffer<3x8> -> !tile.tile<3x8xf32>
  %squares = tile.monomials %q[%c0] {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>} : !tile.tile<2x16xf32> -> !tile.tile<3x16xf32>
  %sum = tile.dot %squares, %r {lhs_transposed} : !tile.tile<3x16xf32>, !tile.tile<3x8xf32> -> !tile.tile<16x8xf32>
  tile.accumulate %squares, %z, %s[%c0] : !tile.tile<3x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<3x8>
  tile.store %sum, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x8xf32>, memref<?x8xf32>
}

// The sum of one ends at another position; one is read when the other is updated already; one is stored as it is;
// monomials have other weights.

// CHECK-LABEL: tile.kernel @bounds
// CHECK-COUNT-2: accumulate
tile.kernel @bounds attributes {arg_names = ["y", "x", "o"], num_inputs = 2} {
^bb0(%y: memref<?x32xf32>, %x: memref<?x8xf32>, %o: memref<?x32xf32>):
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %s = tile.buffer : !tile.buffer<8x32>
  %t = tile.buffer : !tile.buffer<32x8>
  %phi = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x32xf32> -> !tile.tile<32x16xf32>
  %rows = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x32xf32> -> !tile.tile<16x32xf32>
  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x8xf32> -> !tile.tile<8x16xf32>
  %z = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %r = tile.read %s[%c0] : !tile.buffer<8x32> -> !tile.tile<8x32xf32>
  %sum = tile.dot %a, %r {lhs_transposed} : !tile.tile<8x16xf32>, !tile.tile<8x32xf32> -> !tile.tile<16x32xf32>
  tile.accumulate %a, %rows, %s[%c0] bound %c8 : !tile.tile<8x16xf32>, !tile.tile<16x32xf32>, !tile.buffer<8x32>
  tile.accumulate %phi, %z, %t[%c0] : !tile.tile<32x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<32x8>
  tile.store %sum, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x32xf32>, memref<?x32xf32>
}
// CHECK-LABEL: tile.kernel @late
// CHECK-COUNT-2: accumulate
tile.kernel @late attributes {arg_names = ["y", "x", "o", "p"], num_inputs = 2} {
^bb0(%y: memref<?x32xf32>, %x: memref<?x8xf32>, %o: memref<?x32xf32>, %p: memref<?x8xf32>):
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<8x32>
  %t = tile.buffer : !tile.buffer<32x8>
  %phi = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x32xf32> -> !tile.tile<32x16xf32>
  %rows = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x32xf32> -> !tile.tile<16x32xf32>
  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x8xf32> -> !tile.tile<8x16xf32>
  %z = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  tile.accumulate %phi, %z, %t[%c0] : !tile.tile<32x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<32x8>
  %u = tile.read %t[%c0] : !tile.buffer<32x8> -> !tile.tile<32x8xf32>
  %n = tile.dot %phi, %u {lhs_transposed} : !tile.tile<32x16xf32>, !tile.tile<32x8xf32> -> !tile.tile<16x8xf32>
  %r = tile.read %s[%c0] : !tile.buffer<8x32> -> !tile.tile<8x32xf32>
  %sum = tile.dot %a, %r {lhs_transposed} : !tile.tile<8x16xf32>, !tile.tile<8x32xf32> -> !tile.tile<16x32xf32>
  tile.accumulate %a, %rows, %s[%c0] : !tile.tile<8x16xf32>, !tile.tile<16x32xf32>, !tile.buffer<8x32>
  tile.store %sum, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x32xf32>, memref<?x32xf32>
  tile.store %n, %p[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x8xf32>, memref<?x8xf32>
}
// CHECK-LABEL: tile.kernel @stored
// CHECK-COUNT-2: accumulate
tile.kernel @stored attributes {arg_names = ["y", "x", "o", "p"], num_inputs = 2} {
^bb0(%y: memref<?x32xf32>, %x: memref<?x8xf32>, %o: memref<8x32xf32>, %p: memref<32x8xf32>):
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<8x32>
  %t = tile.buffer : !tile.buffer<32x8>
  %phi = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x32xf32> -> !tile.tile<32x16xf32>
  %rows = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x32xf32> -> !tile.tile<16x32xf32>
  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x8xf32> -> !tile.tile<8x16xf32>
  %z = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  tile.accumulate %a, %rows, %s[%c0] : !tile.tile<8x16xf32>, !tile.tile<16x32xf32>, !tile.buffer<8x32>
  tile.accumulate %phi, %z, %t[%c0] : !tile.tile<32x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<32x8>
  %r = tile.read %s[%c0] : !tile.buffer<8x32> -> !tile.tile<8x32xf32>
  %u = tile.read %t[%c0] : !tile.buffer<32x8> -> !tile.tile<32x8xf32>
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<8x32xf32>, memref<8x32xf32>
  tile.store %u, %p[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<32x8xf32>, memref<32x8xf32>
}
// CHECK-LABEL: tile.kernel @weights
// CHECK-COUNT-2: accumulate
tile.kernel @weights attributes {arg_names = ["y", "x", "o"], num_inputs = 2} {
^bb0(%y: memref<?x2xf32>, %x: memref<?x8xf32>, %o: memref<?x8xf32>):
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<2x8>
  %t = tile.buffer : !tile.buffer<3x8>
  %q = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x2xf32> -> !tile.tile<2x16xf32>
  %z = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %all = tile.monomials %q[%c0] {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>, weights = array<f64: 1.0, 2.0, 1.0>} : !tile.tile<2x16xf32> -> !tile.tile<3x16xf32>
  %part = tile.monomials %q[%c0] {table = dense<[[0, 1], [1, 1]]> : tensor<2x2xi32>, weights = array<f64: 1.0, 1.0>} : !tile.tile<2x16xf32> -> !tile.tile<2x16xf32>
  %r = tile.read %s[%c0] : !tile.buffer<2x8> -> !tile.tile<2x8xf32>
  %sum = tile.dot %part, %r {lhs_transposed} : !tile.tile<2x16xf32>, !tile.tile<2x8xf32> -> !tile.tile<16x8xf32>
  tile.accumulate %part, %z, %s[%c0] : !tile.tile<2x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<2x8>
  tile.accumulate %all, %z, %t[%c0] : !tile.tile<3x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<3x8>
  tile.store %sum, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x8xf32>, memref<?x8xf32>
}
