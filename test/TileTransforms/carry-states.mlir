// RUN: polyattn-opt %s --tile-carry-states | FileCheck %s
// RUN: polyattn-opt %s --tile-carry-states=elements=4095 | FileCheck %s --check-prefix=SMALL
// RUN: polyattn-opt %s --tile-carry-states --tile-set-precision=tensor-cores --tile-to-warp -o /dev/null

// S <- g S + K^T V. The product comes as early as it can, before the sums of the same rows; what the
// queries read is a copy; the buffer has the state before, and what reads it after the loop takes the loop's.
// CHECK-LABEL: tile.kernel @whole
// CHECK: %[[BUFFER:.*]] = buffer : <64x64>
// CHECK: %[[BEFORE:.*]] = read %[[BUFFER]][%{{.*}}] : <64x64> -> <64x64xf32>
// CHECK: %[[AFTER:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[BEFORE]])
// CHECK-NEXT: %[[COPY:.*]] = tile.map %[[S]] : !tile.tile<64x64xf32> -> <64x64xf32>
// CHECK: %[[SCALED:.*]] = tile.map %[[S]], %{{.*}} : !tile.tile<64x64xf32>, !tile.tile<1x1xf32>
// CHECK: arith.mulf
// CHECK: %[[NEXT:.*]] = tile.dot %{{.*}}, %{{.*}} acc %[[SCALED]] : !tile.tile<64x64xf32> bound %{{.*}} :
// CHECK: tile.dot %{{.*}}, %[[COPY]] {lhs_transposed}
// CHECK: tile.reduce
// CHECK-NOT: tile.accumulate
// CHECK: scf.yield %[[NEXT]]
// CHECK-NOT: %[[BUFFER]]
// CHECK: store %[[AFTER]], %s
// SMALL-LABEL: tile.kernel @whole
// SMALL-NOT: iter_args
// SMALL: tile.accumulate
tile.kernel @whole programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "k", "g", "o", "s"], num_inputs = 3} {
^bb0(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %g: memref<1xf32>, %o: memref<?x?x?x64xbf16>,
     %s: memref<64x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %q, %c1 : memref<?x?x?x64xbf16>
  %state = tile.buffer : !tile.buffer<64x64>
  %z = tile.buffer : !tile.buffer<64x1>
  %factor = tile.load %g[%c0] {row_dim = 0, col_dim = -1} : memref<1xf32> -> !tile.tile<1x1xf32>
  scf.for %t = %c0 to %n step %c64 {
    %left = arith.subi %n, %t : index
    %valid = arith.minsi %left, %c64 : index
    %phi_q = tile.load %q[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %phi_k = tile.load %k[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %values = tile.load %k[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %old = tile.read %state[%c0] : !tile.buffer<64x64> -> !tile.tile<64x64xf32>
    %sum = tile.dot %phi_q, %old {lhs_transposed} : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    tile.store %sum, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xbf16>
    %added = tile.reduce <add> <columns> %phi_k bound %valid : !tile.tile<64x64xf32> -> !tile.tile<64x1xf32>
    tile.write %added, %z[%c0] : !tile.tile<64x1xf32>, !tile.buffer<64x1>
    tile.accumulate %phi_k, %values, %state[%c0] bound %valid factor %factor : !tile.tile<1x1xf32> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<64x64>
  }
  %final = tile.read %state[%c0] : !tile.buffer<64x64> -> !tile.tile<64x64xf32>
  tile.store %final, %s[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
}

// A part of the state is read after the loop: it has to be in memory again.
// CHECK-LABEL: tile.kernel @part
// CHECK: %[[BUFFER:.*]] = buffer : <64x64>
// CHECK: %[[AFTER:.*]] = scf.for
// CHECK: write %[[AFTER]], %[[BUFFER]]
// CHECK: read %[[BUFFER]]
// CHECK: read %[[BUFFER]]
tile.kernel @part programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "s"], num_inputs = 1} {
^bb0(%k: memref<?x?x?x64xbf16>, %s: memref<64x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
  %state = tile.buffer : !tile.buffer<64x64>
  scf.for %t = %c0 to %n step %c64 {
    %phi_k = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %values = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    tile.accumulate %phi_k, %values, %state[%c0] : !tile.tile<64x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<64x64>
  }
  %all = tile.read %state[%c0] : !tile.buffer<64x64> -> !tile.tile<64x64xf32>
  %half = tile.read %state[%c32] : !tile.buffer<64x64> -> !tile.tile<32x64xf32>
  tile.store %all, %s[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
  tile.store %half, %s[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<32x64xf32>, memref<64x64xf32>
}

// Half of a state in each iteration of a loop inside.
// CHECK-LABEL: tile.kernel @halves
// CHECK-NOT: iter_args
// CHECK: tile.accumulate
tile.kernel @halves programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "o"], num_inputs = 1} {
^bb0(%k: memref<?x?x?x64xbf16>, %o: memref<64x64xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
  %state = tile.buffer : !tile.buffer<64x64>
  scf.for %t = %c0 to %n step %c64 {
    %phi_k = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %values = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    scf.for %f = %c0 to %c64 step %c32 {
      %half = tile.slice %phi_k[%f, %c0] : !tile.tile<64x64xf32> -> !tile.tile<32x64xf32>
      tile.accumulate %half, %values, %state[%f] : !tile.tile<32x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<64x64>
    }
  }
  %final = tile.read %state[%c0] : !tile.buffer<64x64> -> !tile.tile<64x64xf32>
  tile.store %final, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<64x64xf32>, memref<64x64xf32>
}

// What an iteration reads is what it has added itself.
// CHECK-LABEL: tile.kernel @late
// CHECK-NOT: iter_args
// CHECK: tile.accumulate
tile.kernel @late programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "o"], num_inputs = 1} {
^bb0(%k: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
  %state = tile.buffer : !tile.buffer<64x64>
  scf.for %t = %c0 to %n step %c64 {
    %phi_k = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    %values = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
    tile.accumulate %phi_k, %values, %state[%c0] : !tile.tile<64x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<64x64>
    %new = tile.read %state[%c0] : !tile.buffer<64x64> -> !tile.tile<64x64xf32>
    %sum = tile.dot %phi_k, %new {lhs_transposed} : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    tile.store %sum, %o[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xbf16>
  }
}

// A loop over runs of blocks comes to the loop that carries a state again and again: the buffer has
// what each run has left, though nothing after the inner loop reads it.
// CHECK-LABEL: tile.kernel @runs
// CHECK: scf.for
// CHECK: %[[BEFORE:.*]] = tile.read %[[BUFFER:.*]][%{{.*}}] : <64x64> -> <64x64xf32>
// CHECK: %[[AFTER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[BEFORE]])
// CHECK: tile.write %[[AFTER]], %[[BUFFER]][%{{.*}}] : <64x64xf32>, <64x64>
tile.kernel @runs programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["k", "o"], num_inputs = 1} {
^bb0(%k: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
  %state = tile.buffer : !tile.buffer<64x64>
  scf.for %start = %c0 to %n step %c128 {
    %end = arith.addi %start, %c128 : index
    scf.for %t = %start to %end step %c64 {
      %phi_k = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
      %values = tile.load %k[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x64xbf16> -> !tile.tile<64x64xf32>
      %old = tile.read %state[%c0] : !tile.buffer<64x64> -> !tile.tile<64x64xf32>
      %sum = tile.dot %phi_k, %old {lhs_transposed} : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
      tile.store %sum, %o[%batch, %t, %head, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<64x64xf32>, memref<?x?x?x64xbf16>
      tile.accumulate %phi_k, %values, %state[%c0] : !tile.tile<64x64xf32>, !tile.tile<64x64xf32>, !tile.buffer<64x64>
    }
  }
}
