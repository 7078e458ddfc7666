// RUN: polyattn-opt %s --tile-share-states --cse | FileCheck %s

// Both loops gather the products of %a's rows and %x, the first ones of its windows, the second ones too: one loop
// reads one buffer for both and updates it once, as what is left behind the loops does.

// CHECK-LABEL: tile.kernel @shared
// CHECK:         %[[STATE:.*]] = buffer : <40x8>
// CHECK-NOT:     buffer
// CHECK:         %[[X:.*]] = load %q
// CHECK:         %[[Y:.*]] = load %y[%batch, %c0,
// CHECK:         %[[U:.*]] = load %y[%batch, %c16,
// CHECK:         %[[SUMS:.*]]:2 = scf.for %[[F:.*]] = %{{.*}} iter_args(%[[I:.*]] = %{{.*}}, %[[J:.*]] = %{{.*}}) ->
// CHECK-NEXT:      %[[A:.*]] = tile.slice %[[Y]][%[[F]],
// CHECK-NEXT:      %[[S:.*]] = tile.read %[[STATE]][%[[F]]]
// CHECK-NEXT:      tile.dot %[[A]], %[[S]] acc %[[I]]
// CHECK-NEXT:      %[[B:.*]] = tile.slice %[[U]][%[[F]],
// CHECK-NEXT:      tile.dot %[[B]], %[[S]] acc %[[J]]
// CHECK-NEXT:      tile.accumulate %[[A]], %[[X]], %[[STATE]][%[[F]]]
// CHECK-NEXT:      scf.yield
// CHECK:         store %[[SUMS]]#0
// CHECK:         accumulate %{{.*}}, %[[X]], %[[STATE]][%c32]
// CHECK-NOT:     accumulate
// CHECK:         store %[[SUMS]]#1
tile.kernel @shared programs [dim(0, 0)] attributes {arg_names = ["q", "y", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x8xf32>, %y: memref<?x?x?x40xf32>, %o: memref<?x?x?x8xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %s = tile.buffer : !tile.buffer<40x8>
  %t = tile.buffer : !tile.buffer<40x8>
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xf32> -> !tile.tile<16x8xf32>
  %a = tile.load %y[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x40xf32> -> !tile.tile<40x16xf32>
  %zero = tile.constant 0.0 : !tile.tile<16x8xf32>
  %m = scf.for %f = %c0 to %c32 step %c16 iter_args(%sum = %zero) -> (!tile.tile<16x8xf32>) {
    %w = tile.slice %a[%f, %c0] : !tile.tile<40x16xf32> -> !tile.tile<16x16xf32>
    %r = tile.read %s[%f] : !tile.buffer<40x8> -> !tile.tile<16x8xf32>
    %next = tile.dot %w, %r acc %sum : !tile.tile<16x8xf32> {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x8xf32> -> !tile.tile<16x8xf32>
    tile.accumulate %w, %x, %s[%f] : !tile.tile<16x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
    scf.yield %next : !tile.tile<16x8xf32>
  }
  %rest = tile.slice %a[%c32, %c0] : !tile.tile<40x16xf32> -> !tile.tile<8x16xf32>
  tile.accumulate %rest, %x, %s[%c32] : !tile.tile<8x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
  tile.store %m, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
  %b = tile.load %y[%batch, %c16, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x40xf32> -> !tile.tile<40x16xf32>
  %n = scf.for %f = %c0 to %c32 step %c16 iter_args(%sum = %zero) -> (!tile.tile<16x8xf32>) {
    %w = tile.slice %a[%f, %c0] : !tile.tile<40x16xf32> -> !tile.tile<16x16xf32>
    %u = tile.slice %b[%f, %c0] : !tile.tile<40x16xf32> -> !tile.tile<16x16xf32>
    %r = tile.read %t[%f] : !tile.buffer<40x8> -> !tile.tile<16x8xf32>
    %next = tile.dot %u, %r acc %sum : !tile.tile<16x8xf32> {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x8xf32> -> !tile.tile<16x8xf32>
    tile.accumulate %w, %x, %t[%f] : !tile.tile<16x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
    scf.yield %next : !tile.tile<16x8xf32>
  }
  %same = tile.slice %a[%c32, %c0] : !tile.tile<40x16xf32> -> !tile.tile<8x16xf32>
  tile.accumulate %same, %x, %t[%c32] : !tile.tile<8x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
  tile.store %n, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
}

// One gathers other rows; the next is read between the updates; the last loop needs what the first gives.
// CHECK-LABEL: tile.kernel @others
// CHECK-COUNT-2: buffer : <40x8>
// CHECK-COUNT-2: accumulate
tile.kernel @others attributes {arg_names = ["q", "y", "o"], num_inputs = 2} {
^bb0(%q: memref<?x8xf32>, %y: memref<?x40xf32>, %o: memref<?x8xf32>):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %s = tile.buffer : !tile.buffer<40x8>
  %t = tile.buffer : !tile.buffer<40x8>
  %x = tile.load %q[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %a = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x40xf32> -> !tile.tile<40x16xf32>
  %b = tile.load %y[%c16, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x40xf32> -> !tile.tile<40x16xf32>
  tile.accumulate %a, %x, %s[%c0] : !tile.tile<40x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
  tile.accumulate %b, %x, %t[%c0] : !tile.tile<40x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
}
// CHECK-LABEL: tile.kernel @read_between
// CHECK-COUNT-2: buffer : <40x8>
// CHECK-COUNT-2: accumulate
tile.kernel @read_between attributes {arg_names = ["q", "y", "o"], num_inputs = 2} {
^bb0(%q: memref<?x8xf32>, %y: memref<?x40xf32>, %o: memref<?x8xf32>):
  %c0 = arith.constant 0 : index
  %s = tile.buffer : !tile.buffer<40x8>
  %t = tile.buffer : !tile.buffer<40x8>
  %x = tile.load %q[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %a = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x40xf32> -> !tile.tile<40x16xf32>
  tile.accumulate %a, %x, %s[%c0] : !tile.tile<40x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
  %r = tile.read %s[%c0] : !tile.buffer<40x8> -> !tile.tile<16x8xf32>
  tile.store %r, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x8xf32>, memref<?x8xf32>
  tile.accumulate %a, %x, %t[%c0] : !tile.tile<40x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<40x8>
}
// CHECK-LABEL: tile.kernel @one_after_another
// CHECK-COUNT-2: buffer : <32x8>
// CHECK-COUNT-2: accumulate
tile.kernel @one_after_another attributes {arg_names = ["q", "y", "o"], num_inputs = 2} {
^bb0(%q: memref<?x8xf32>, %y: memref<?x32xf32>, %o: memref<?x8xf32>):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %s = tile.buffer : !tile.buffer<32x8>
  %t = tile.buffer : !tile.buffer<32x8>
  %x = tile.load %q[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> !tile.tile<16x8xf32>
  %a = tile.load %y[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<?x32xf32> -> !tile.tile<32x16xf32>
  %zero = tile.constant 0.0 : !tile.tile<16x8xf32>
  %m = scf.for %f = %c0 to %c32 step %c16 iter_args(%sum = %zero) -> (!tile.tile<16x8xf32>) {
    %w = tile.slice %a[%f, %c0] : !tile.tile<32x16xf32> -> !tile.tile<16x16xf32>
    %r = tile.read %s[%f] : !tile.buffer<32x8> -> !tile.tile<16x8xf32>
    %next = tile.dot %w, %r acc %sum : !tile.tile<16x8xf32> {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x8xf32> -> !tile.tile<16x8xf32>
    tile.accumulate %w, %x, %s[%f] : !tile.tile<16x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<32x8>
    scf.yield %next : !tile.tile<16x8xf32>
  }
  %n = scf.for %f = %c0 to %c32 step %c16 iter_args(%sum = %m) -> (!tile.tile<16x8xf32>) {
    %w = tile.slice %a[%f, %c0] : !tile.tile<32x16xf32> -> !tile.tile<16x16xf32>
    %r = tile.read %t[%f] : !tile.buffer<32x8> -> !tile.tile<16x8xf32>
    %next = tile.dot %w, %r acc %sum : !tile.tile<16x8xf32> {lhs_transposed} : !tile.tile<16x16xf32>, !tile.tile<16x8xf32> -> !tile.tile<16x8xf32>
    tile.accumulate %w, %x, %t[%f] : !tile.tile<16x16xf32>, !tile.tile<16x8xf32>, !tile.buffer<32x8>
    scf.yield %next : !tile.tile<16x8xf32>
  }
  tile.store %n, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x8xf32>, memref<?x8xf32>
}
