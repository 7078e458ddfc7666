// RUN: polyattn-opt %s --tile-fold-transposes --cse | FileCheck %s

// What is computed element by element from a transpose, a tensor and a number is computed of the rows.

// CHECK-LABEL: tile.kernel @elements
// CHECK-NOT: = transpose
// CHECK-DAG: %[[G:.*]] = {{(tile\.)?}}load %g[{{.*}} : memref<?x?x?x8xf32> -> <16x8xf32>
// CHECK-DAG: %[[X:.*]] = {{(tile\.)?}}load %q[{{.*}}] {col_dim = 3 : i64, row_dim = 1 : i64} : memref<?x?x?x8xf32> -> <16x8xf32>
// CHECK-DAG: %[[E:.*]] = {{(tile\.)?}}map %[[X]] : !tile.tile<16x8xf32> -> <16x8xf32>
// CHECK-DAG: %[[TWO:.*]] = {{(tile\.)?}}constant {{.*}} : <16x1xf32>
// CHECK: %[[Y:.*]] = {{(tile\.)?}}map %[[G]], %[[E]], %[[TWO]] : !tile.tile<16x8xf32>, !tile.tile<16x8xf32>, !tile.tile<16x1xf32> -> <16x8xf32>
// CHECK: store %[[Y]]
tile.kernel @elements programs [dim(0, 0)] attributes {arg_names = ["q", "g", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x8xf32>, %g: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %rows = tile.load %g[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xf32> -> !tile.tile<16x8xf32>
  %columns = tile.transpose %rows : !tile.tile<16x8xf32> -> !tile.tile<8x16xf32>
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %e = tile.map %x : !tile.tile<8x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32):
    %p = math.exp %i : f32
    tile.yield %p : f32
  }
  %two = tile.constant 2.0 : !tile.tile<1x16xf32>
  %y = tile.map %columns, %e, %two : !tile.tile<8x16xf32>, !tile.tile<8x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %p = arith.mulf %i, %j : f32
    %r = arith.mulf %p, %k : f32
    tile.yield %r : f32
  }
  %back = tile.transpose %y : !tile.tile<8x16xf32> -> !tile.tile<16x8xf32>
  tile.store %back, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
}

// A row that all of them share is turned; a tensor that the kernel writes stays as it is, and so does what something else reads.

// CHECK-LABEL: tile.kernel @others
// CHECK: = {{(tile\.)?}}transpose %{{.*}} : <16x8xf32> -> <8x16xf32>
// CHECK: = {{(tile\.)?}}transpose %{{.*}} : <1x16xf32> -> <16x1xf32>
// CHECK-COUNT-2: transpose %{{.*}} : <8x16xf32> -> <16x8xf32>
// CHECK-NOT: = transpose
tile.kernel @others programs [dim(0, 0)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %rows = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xf32> -> !tile.tile<16x8xf32>
  %columns = tile.transpose %rows : !tile.tile<16x8xf32> -> !tile.tile<8x16xf32>
  %sums = tile.reduce <add> <rows> %columns : !tile.tile<8x16xf32> -> !tile.tile<1x16xf32>
  %a = tile.map %columns, %sums : !tile.tile<8x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    tile.yield %p : f32
  }
  %b = tile.transpose %a : !tile.tile<8x16xf32> -> !tile.tile<16x8xf32>
  tile.store %b, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
  %old = tile.load %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %c = tile.map %columns, %old : !tile.tile<8x16xf32>, !tile.tile<8x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    tile.yield %p : f32
  }
  %d = tile.transpose %c : !tile.tile<8x16xf32> -> !tile.tile<16x8xf32>
  tile.store %d, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
  %e = tile.map %columns : !tile.tile<8x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32):
    %p = arith.mulf %i, %i : f32
    tile.yield %p : f32
  }
  %more = tile.reduce <add> <columns> %e : !tile.tile<8x16xf32> -> !tile.tile<8x1xf32>
  %f = tile.map %e, %more : !tile.tile<8x16xf32>, !tile.tile<8x1xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    tile.yield %p : f32
  }
  %g = tile.transpose %f : !tile.tile<8x16xf32> -> !tile.tile<16x8xf32>
  tile.store %g, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
}

// What only a sum over features reads of columns is summed by rows. What products read of them has a cheap function of them
// computed once more where the rows are there now.

// CHECK-LABEL: tile.kernel @sums
// CHECK-DAG: %[[D:.*]] = {{(tile\.)?}}load %d[{{.*}}] {col_dim = 3 : i64, row_dim = 1 : i64} : memref<?x?x?x8xf32> -> <16x8xf32>
// CHECK-DAG: %[[Y:.*]] = {{(tile\.)?}}load %y[{{.*}}] {col_dim = 3 : i64, row_dim = 1 : i64} : memref<?x?x?x8xf32> -> <16x8xf32>
// CHECK-NOT: load %y
// CHECK: %[[P:.*]] = {{(tile\.)?}}map %[[D]], %[[Y]] : !tile.tile<16x8xf32>, !tile.tile<16x8xf32> -> <16x8xf32>
// CHECK: %[[SUMS:.*]] = {{(tile\.)?}}reduce <add> <columns> %[[P]] : <16x8xf32> -> <16x1xf32>
// CHECK: %[[ROW:.*]] = {{(tile\.)?}}transpose %[[SUMS]] : <16x1xf32> -> <1x16xf32>
// CHECK: dot
// CHECK-NOT: transpose %{{.*}} : <8x16xf32>
// CHECK: %[[Z:.*]] = {{(tile\.)?}}map %[[D]], %{{.*}} : !tile.tile<16x8xf32>, !tile.tile<16x1xf32> -> <16x8xf32>
// CHECK: store %[[Z]]
tile.kernel @sums programs [dim(0, 0)] attributes {arg_names = ["d", "y", "f", "o", "s"], num_inputs = 3} {
^bb0(%d: memref<?x?x?x8xf32>, %y: memref<?x?x?x8xf32>, %f: memref<?x?x?x2xf32>, %o: memref<?x?x?x8xf32>, %s: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %dt = tile.load %d[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %yt = tile.load %y[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %ft = tile.load %f[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x2xf32> -> !tile.tile<2x16xf32>
  %product = tile.map %dt, %yt : !tile.tile<8x16xf32>, !tile.tile<8x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    tile.yield %p : f32
  }
  %sums = tile.reduce <add> <rows> %product : !tile.tile<8x16xf32> -> !tile.tile<1x16xf32>
  %factor = tile.slice %ft[%c0, %c0] : !tile.tile<2x16xf32> -> !tile.tile<1x16xf32>
  %scaled = tile.map %dt, %factor : !tile.tile<8x16xf32>, !tile.tile<1x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    tile.yield %p : f32
  }
  %scores = tile.dot %scaled, %dt {lhs_transposed} : !tile.tile<8x16xf32>, !tile.tile<8x16xf32> -> !tile.tile<16x16xf32>
  tile.store %scores, %s[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xf32>
  tile.store %sums, %s[%batch, %c0, %c0, %c0] {row_dim = -1, col_dim = 3} : !tile.tile<1x16xf32>, memref<?x?x?x16xf32>
  %back = tile.transpose %scaled : !tile.tile<8x16xf32> -> !tile.tile<16x8xf32>
  tile.store %back, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
}

// An exponential of columns whose rows have theirs is those turned.

// CHECK-LABEL: tile.kernel @both_ways
// CHECK-NOT: transposed
// CHECK: %[[E:.*]] = {{(tile\.)?}}map
// CHECK: math.exp
// CHECK: transpose %[[E]] : <16x8xf32> -> <8x16xf32>
// CHECK-NOT: math.exp
tile.kernel @both_ways programs [dim(0, 0)] attributes {arg_names = ["q", "o", "s"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %s: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x8xf32> -> !tile.tile<16x8xf32>
  %e = tile.map %x : !tile.tile<16x8xf32> -> !tile.tile<16x8xf32> {
  ^bb0(%i: f32):
    %p = math.exp %i : f32
    tile.yield %p : f32
  }
  tile.store %e, %o[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x8xf32>, memref<?x?x?x8xf32>
  %xt = tile.load %q[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x16xf32>
  %et = tile.map %xt : !tile.tile<8x16xf32> -> !tile.tile<8x16xf32> {
  ^bb0(%i: f32):
    %p = math.exp %i : f32
    tile.yield %p : f32
  }
  %scores = tile.dot %e, %et : !tile.tile<16x8xf32>, !tile.tile<8x16xf32> -> !tile.tile<16x16xf32>
  tile.store %scores, %s[%batch, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xf32>
}

// Rows of a buffer are read where they are used: a function of them stays in front of what updates the buffer, be the sum or the
// transpose behind that. Where the rows are read and used behind it, they are turned.

// CHECK-LABEL: tile.kernel @moved_behind_an_update
// CHECK:         %[[R:.*]] = {{(tile\.)?}}read %[[Z:.*]][
// CHECK:         %[[Y:.*]] = {{(tile\.)?}}map %{{.*}}, %[[R]] : !tile.tile<32x16xf32>, !tile.tile<32x1xf32>
// CHECK:         accumulate {{.*}} %[[Z]][
// CHECK:         transpose %[[Y]] : <32x16xf32> -> <16x32xf32>
// CHECK:         %[[S:.*]] = {{(tile\.)?}}read %[[Z]][
// CHECK:         %[[T:.*]] = {{(tile\.)?}}transpose %[[S]] : <32x1xf32> -> <1x32xf32>
// CHECK:         map %{{.*}}, %[[T]] : !tile.tile<16x32xf32>, !tile.tile<1x32xf32>
tile.kernel @moved_behind_an_update attributes {arg_names = ["x", "o", "p", "r"], num_inputs = 1} {
^bb0(%x: memref<16x32xf32>, %o: memref<16x32xf32>, %p: memref<16x32xf32>, %r: memref<16x32xf32>):
  %c0 = arith.constant 0 : index
  %z = tile.buffer : !tile.buffer<32x1>
  %columns = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<16x32xf32> -> !tile.tile<32x16xf32>
  %rows = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<16x32xf32> -> !tile.tile<16x32xf32>
  %ones = tile.constant 1.0 : !tile.tile<16x1xf32>
  %before = tile.read %z[%c0] : !tile.buffer<32x1> -> !tile.tile<32x1xf32>
  %y = tile.map %columns, %before : !tile.tile<32x16xf32>, !tile.tile<32x1xf32> -> !tile.tile<32x16xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  tile.accumulate %columns, %ones, %z[%c0] : !tile.tile<32x16xf32>, !tile.tile<16x1xf32>, !tile.buffer<32x1>
  %t = tile.transpose %y : !tile.tile<32x16xf32> -> !tile.tile<16x32xf32>
  tile.store %t, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x32xf32>, memref<16x32xf32>
  tile.store %rows, %p[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x32xf32>, memref<16x32xf32>
  %after = tile.read %z[%c0] : !tile.buffer<32x1> -> !tile.tile<32x1xf32>
  %u = tile.map %columns, %after : !tile.tile<32x16xf32>, !tile.tile<32x1xf32> -> !tile.tile<32x16xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  %v = tile.transpose %u : !tile.tile<32x16xf32> -> !tile.tile<16x32xf32>
  tile.store %v, %r[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x32xf32>, memref<16x32xf32>
}

// A sum of columns, and rows that were turned before the update.

// CHECK-LABEL: tile.kernel @summed_behind_an_update
// CHECK:         %[[R:.*]] = {{(tile\.)?}}read %[[Z:.*]][
// CHECK:         %[[Y:.*]] = {{(tile\.)?}}map %{{.*}}, %[[R]]
// CHECK:         accumulate {{.*}} %[[Z]][
// CHECK:         reduce <add> <rows> %[[Y]] : <32x16xf32> -> <1x16xf32>
tile.kernel @summed_behind_an_update attributes {arg_names = ["x", "w", "o"], num_inputs = 2} {
^bb0(%x: memref<16x32xf32>, %w: memref<32x16xf32>, %o: memref<16xf32>):
  %c0 = arith.constant 0 : index
  %z = tile.buffer : !tile.buffer<32x1>
  %columns = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1, transposed} : memref<16x32xf32> -> !tile.tile<32x16xf32>
  %rows = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<32x16xf32> -> !tile.tile<32x16xf32>
  %ones = tile.constant 1.0 : !tile.tile<16x1xf32>
  %before = tile.read %z[%c0] : !tile.buffer<32x1> -> !tile.tile<32x1xf32>
  %y = tile.map %columns, %before : !tile.tile<32x16xf32>, !tile.tile<32x1xf32> -> !tile.tile<32x16xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  tile.accumulate %rows, %ones, %z[%c0] : !tile.tile<32x16xf32>, !tile.tile<16x1xf32>, !tile.buffer<32x1>
  %sums = tile.reduce <add> <rows> %y : !tile.tile<32x16xf32> -> !tile.tile<1x16xf32>
  tile.store %sums, %o[%c0] {row_dim = -1, col_dim = 0} : !tile.tile<1x16xf32>, memref<16xf32>
}

// CHECK-LABEL: tile.kernel @turned_behind_an_update
// CHECK:         %[[R:.*]] = {{(tile\.)?}}read %[[Z:.*]][
// CHECK:         %[[T:.*]] = {{(tile\.)?}}transpose %[[R]] : <32x16xf32> -> <16x32xf32>
// CHECK:         %[[Y:.*]] = {{(tile\.)?}}map %[[T]]
// CHECK:         write {{.*}} %[[Z]][
// CHECK:         transpose %[[Y]] : <16x32xf32> -> <32x16xf32>
tile.kernel @turned_behind_an_update attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<32x16xf32>, %o: memref<32x16xf32>):
  %c0 = arith.constant 0 : index
  %z = tile.buffer : !tile.buffer<32x16>
  %rows = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<32x16xf32> -> !tile.tile<32x16xf32>
  %before = tile.read %z[%c0] : !tile.buffer<32x16> -> !tile.tile<32x16xf32>
  %columns = tile.transpose %before : !tile.tile<32x16xf32> -> !tile.tile<16x32xf32>
  %y = tile.map %columns : !tile.tile<16x32xf32> -> !tile.tile<16x32xf32> {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    tile.yield %s : f32
  }
  tile.write %rows, %z[%c0] : !tile.tile<32x16xf32>, !tile.buffer<32x16>
  %t = tile.transpose %y : !tile.tile<16x32xf32> -> !tile.tile<32x16xf32>
  tile.store %t, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<32x16xf32>, memref<32x16xf32>
}
