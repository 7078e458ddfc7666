// RUN: polyattn-opt %s --tile-set-precision | FileCheck %s --check-prefix=VECTOR
// RUN: polyattn-opt %s --tile-set-precision=bf16-pairs | FileCheck %s --check-prefix=PAIRS
// RUN: polyattn-opt %s --tile-set-precision=tensor-cores | FileCheck %s --check-prefix=TENSOR

// Matrices on tensor cores are multiplied as exactly as sequences are stored; weights do not count.
// What says its precision keeps it where the target has it.

// PAIRS-LABEL: tile.kernel @bf16
// PAIRS: dot %{{.*}} precision <bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// PAIRS: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// PAIRS: dot %{{.*}} precision <split_bf16>
// PAIRS: accumulate %{{.*}} precision <bf16> {{.*}}<16x16>
// PAIRS: accumulate %{{.*}} precision <f32> {{.*}}<16x1>
// VECTOR-LABEL: tile.kernel @bf16
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// VECTOR: dot %{{.*}} precision <split_bf16>
// VECTOR: accumulate %{{.*}} precision <f32> {{.*}}<16x16>
// VECTOR: accumulate %{{.*}} precision <f32> {{.*}}<16x1>
// TENSOR-LABEL: tile.kernel @bf16
// TENSOR: dot %{{.*}} precision <bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// TENSOR: dot %{{.*}} precision <split_bf16> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// TENSOR: dot %{{.*}} precision <split_bf16>
// TENSOR: accumulate %{{.*}} precision <bf16> {{.*}}<16x16>
// TENSOR: accumulate %{{.*}} precision <split_bf16> {{.*}}<16x1>
tile.kernel @bf16 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "w", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x16xbf16>, %w: memref<16x16xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %s = tile.buffer : !tile.buffer<16x16>
  %z = tile.buffer : !tile.buffer<16x1>
  %one = tile.constant 1.0 : !tile.tile<16x1xf32>
  %y = tile.dot %x, %x : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  %d = tile.dot %x, %one : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> !tile.tile<16x1xf32>
  %given = tile.dot %x, %x precision <split_bf16> : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.accumulate %x, %x, %s[%c0] : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>, !tile.buffer<16x16>
  tile.accumulate %x, %one, %z[%c0] : !tile.tile<16x16xf32>, !tile.tile<16x1xf32>, !tile.buffer<16x1>
}

// Exponentials of matrices are as rough as an instruction where products are in bf16. Those of vectors may be decays.
// VECTOR-LABEL: tile.kernel @exponentials
// VECTOR-NOT: afn
// TENSOR-LABEL: tile.kernel @exponentials
// TENSOR: math.exp %{{.*}} fastmath<afn> : f32
// TENSOR: math.exp %{{[^ ]*}} : f32
// TENSOR-LABEL: tile.kernel @exponentials_f32
// TENSOR-NOT: afn
tile.kernel @exponentials programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x16xbf16>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %y = tile.map %x : !tile.tile<16x16xf32> -> <16x16xf32> {
  ^bb0(%e: f32):
    %p = math.exp %e : f32
    tile.yield %p : f32
  }
  %one = tile.constant 1.0 : !tile.tile<16x1xf32>
  %z = tile.map %one : !tile.tile<16x1xf32> -> <16x1xf32> {
  ^bb0(%e: f32):
    %p = math.exp %e : f32
    tile.yield %p : f32
  }
}

tile.kernel @exponentials_f32 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<16x16xf32>
  %y = tile.map %x : !tile.tile<16x16xf32> -> <16x16xf32> {
  ^bb0(%e: f32):
    %p = math.exp %e : f32
    tile.yield %p : f32
  }
}

// PAIRS-LABEL: tile.kernel @f16
// PAIRS-NOT: precision <bf16>
// VECTOR-LABEL: tile.kernel @f16
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// VECTOR: dot %{{.*}} precision <split_bf16>
// VECTOR: accumulate %{{.*}} precision <f32> {{.*}}<16x16>
// VECTOR: accumulate %{{.*}} precision <f32> {{.*}}<16x1>
// TENSOR-LABEL: tile.kernel @f16
// TENSOR: dot %{{.*}} precision <tf32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// TENSOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// TENSOR: dot %{{.*}} precision <split_bf16>
// TENSOR: accumulate %{{.*}} precision <tf32> {{.*}}<16x16>
// TENSOR: accumulate %{{.*}} precision <f32> {{.*}}<16x1>
tile.kernel @f16 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "w", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x16xf16>, %w: memref<16x16xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf16> -> !tile.tile<16x16xf32>
  %s = tile.buffer : !tile.buffer<16x16>
  %z = tile.buffer : !tile.buffer<16x1>
  %one = tile.constant 1.0 : !tile.tile<16x1xf32>
  %y = tile.dot %x, %x : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  %d = tile.dot %x, %one : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> !tile.tile<16x1xf32>
  %given = tile.dot %x, %x precision <split_bf16> : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.accumulate %x, %x, %s[%c0] : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>, !tile.buffer<16x16>
  tile.accumulate %x, %one, %z[%c0] : !tile.tile<16x16xf32>, !tile.tile<16x1xf32>, !tile.buffer<16x1>
}

// PAIRS-LABEL: tile.kernel @f32
// VECTOR-LABEL: tile.kernel @f32
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// VECTOR: dot %{{.*}} precision <split_bf16>
// VECTOR: accumulate %{{.*}} precision <f32> {{.*}}<16x16>
// VECTOR: accumulate %{{.*}} precision <f32> {{.*}}<16x1>
// TENSOR-LABEL: tile.kernel @f32
// TENSOR: dot %{{.*}} precision <split_tf32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// TENSOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// TENSOR: dot %{{.*}} precision <split_bf16>
// TENSOR: accumulate %{{.*}} precision <split_tf32> {{.*}}<16x16>
// TENSOR: accumulate %{{.*}} precision <f32> {{.*}}<16x1>
tile.kernel @f32 programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "w", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x16xf32>, %w: memref<16x16xf32>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<16x16xf32>
  %s = tile.buffer : !tile.buffer<16x16>
  %z = tile.buffer : !tile.buffer<16x1>
  %one = tile.constant 1.0 : !tile.tile<16x1xf32>
  %y = tile.dot %x, %x : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  %d = tile.dot %x, %one : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> !tile.tile<16x1xf32>
  %given = tile.dot %x, %x precision <split_bf16> : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  tile.accumulate %x, %x, %s[%c0] : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>, !tile.buffer<16x16>
  tile.accumulate %x, %one, %z[%c0] : !tile.tile<16x16xf32>, !tile.tile<16x1xf32>, !tile.buffer<16x1>
}

// Tensor cores have no f32 for matrices but sums of two numbers, and one precision for all of a kernel. Beside inputs of 16 bits two
// bf16 are enough.
// VECTOR-LABEL: tile.kernel @keeps_operands
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// VECTOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
// TENSOR-LABEL: tile.kernel @keeps_operands
// TENSOR: dot %{{.*}} precision <split_bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// TENSOR: dot %{{.*}} precision <split_bf16> : <16x16xf32>, <16x16xf32> -> <16x16xf32>
// TENSOR: dot %{{.*}} precision <f32> : <16x16xf32>, <16x1xf32> -> <16x1xf32>
tile.kernel @keeps_operands programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xbf16> -> !tile.tile<16x16xf32>
  %one = tile.constant 1.0 : !tile.tile<16x1xf32>
  %y = tile.dot %x, %x : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  %kept = tile.dot %x, %y precision <f32> : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
  %d = tile.dot %x, %one precision <f32> : !tile.tile<16x16xf32>, !tile.tile<16x1xf32> -> !tile.tile<16x1xf32>
}

// f64 is multiplied in f64 anywhere.
// VECTOR-LABEL: tile.kernel @f64
// VECTOR: dot %{{.*}} precision <f64>
// TENSOR-LABEL: tile.kernel @f64
// TENSOR: dot %{{.*}} precision <f64>
tile.kernel @f64 attributes {arg_names = [], num_inputs = 0} {
  %one = tile.constant 1.0 : !tile.tile<4x4xf64>
  %y = tile.dot %one, %one : !tile.tile<4x4xf64>, !tile.tile<4x4xf64> -> !tile.tile<4x4xf64>
}

// Results of 16 bits show no more, whatever is read in f32. Workspaces are no results.
// TENSOR-LABEL: tile.kernel @rounded_results
// TENSOR: dot %{{.*}} precision <split_bf16>
tile.kernel @rounded_results programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "d_q", "rows"], num_inputs = 1} {
^bb0(%q: memref<?x?x?x16xf32>, %d_q: memref<?x?x?x16xbf16>, %rows: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<16x16xf32>
  %y = tile.dot %x, %x : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
}
tile.entry @rounded_results tensors 2 inputs 1 {
  tile.workspace @rows : f32 [dim(0, 0), dim(0, 1), dim(0, 2), 16]
  tile.stage @rounded_results programs [dim(0, 0), dim(0, 2)] uses [@rows]
}

// A result in f32 of what is read in f32 and in bf16 shows more.
// TENSOR-LABEL: tile.kernel @mixed
// TENSOR: dot %{{.*}} precision <split_tf32>
tile.kernel @mixed programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "v", "o"], num_inputs = 2} {
^bb0(%q: memref<?x?x?x16xf32>, %v: memref<?x?x?x16xbf16>, %o: memref<?x?x?x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.load %q[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<16x16xf32>
  %y = tile.dot %x, %x : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
}
