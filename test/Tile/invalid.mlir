// RUN: polyattn-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected 1 tensors, got 2 arguments}}
tile.kernel @arguments attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>, %batch: index):
}

// -----

// A program's number can be taken apart: only the first axis may be what a launch chooses.
// expected-error @below {{counts programs by #tile.extent<segments>, which may be the first axis only}}
tile.kernel @later_axis programs [dim(0, 0), segments] attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>):
}

// -----

// expected-error @below {{has no size #tile.extent<dim(0, 1)> that counts programs}}
tile.kernel @no_dimension programs [dim(0, 1)] attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>):
}

// -----

// expected-error @below {{has no size #tile.extent<dim(1, 0)> that counts programs}}
tile.kernel @no_tensor programs [dim(1, 0)] attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>):
}

// -----

tile.kernel @no_axis programs [dim(0, 0)] attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>):
  // expected-error @below {{the kernel's programs have 1 axes, and none of number 1}}
  %i = tile.program_id 1 : index
}

// -----

// expected-error @below {{argument 0 has the wrong kind of type}}
tile.kernel @kinds attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: index):
}

// -----

tile.kernel @store_to_input attributes {arg_names = ["x", "y"], num_inputs = 1} {
^bb0(%x: memref<4x4xf32>, %y: memref<4x4xf32>):
  %i = arith.constant 0 : index
  %t = tile.load %x[%i, %i] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  // expected-error @below {{stores to an input}}
  tile.store %t, %x[%i, %i] {row_dim = 0, col_dim = 1} : !tile.tile<4x4xf32>, memref<4x4xf32>
}

// -----

// expected-error @below {{a tile has at least one row and one column}}
func.func private @empty(!tile.tile<0x4xf32>)

// -----

// expected-error @below {{a tile holds f64, f32, bf16 or f16, not 'i8'}}
func.func private @element(!tile.tile<4x4xi8>)

// -----

// expected-error @below {{expected rows x columns}}
func.func private @rank(!tile.buffer<4>)

// -----

func.func @indices(%x: memref<4x4xf32>, %i: index) {
  // expected-error @below {{expected 2 indices, got 1}}
  %t = tile.load %x[%i] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @same_dimension(%x: memref<4x4xf32>, %i: index) {
  // expected-error @below {{row_dim and col_dim must be two dimensions of the tensor, or -1}}
  %t = tile.load %x[%i, %i] {row_dim = 1, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @no_dimension_for_rows(%x: memref<4x4xf32>, %i: index) {
  // expected-error @below {{a tile of several rows or columns needs a dimension for them}}
  %t = tile.load %x[%i, %i] {row_dim = -1, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @store(%x: memref<4x4xf32>, %t: !tile.tile<4x4xf32>, %i: index) {
  // expected-error @below {{a tile of several rows or columns needs a dimension for them}}
  tile.store %t, %x[%i, %i] {row_dim = 0, col_dim = -1} : !tile.tile<4x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @read(%b: !tile.buffer<4x4>, %i: index) {
  // expected-error @below {{do not fit '!tile.buffer<4x4>'}}
  %t = tile.read %b[%i] : !tile.buffer<4x4> -> !tile.tile<4x3xf32>
  return
}

// -----

func.func @write(%b: !tile.buffer<4x4>, %t: !tile.tile<5x4xf32>, %i: index) {
  // expected-error @below {{do not fit '!tile.buffer<4x4>'}}
  tile.write %t, %b[%i] : !tile.tile<5x4xf32>, !tile.buffer<4x4>
  return
}

// -----

func.func @accumulate(%b: !tile.buffer<4x4>, %t: !tile.tile<4x3xf32>, %i: index) {
  // expected-error @below {{shapes do not fit}}
  tile.accumulate %t, %t, %b[%i] : !tile.tile<4x3xf32>, !tile.tile<4x3xf32>, !tile.buffer<4x4>
  return
}

// -----

func.func @recur_key(%s: memref<4x8xf32>, %q: !tile.tile<1x4xf32>, %k: !tile.tile<1x3xf32>, %v: !tile.tile<1x8xf32>, %i: index) {
  // expected-error @below {{the key must be '!tile.tile<1x4xf32>', not '!tile.tile<1x3xf32>'}}
  %o = tile.recur %q key %k value %v, %s[%i, %i] : (!tile.tile<1x4xf32>, !tile.tile<1x3xf32>, !tile.tile<1x8xf32>, memref<4x8xf32>, index, index) -> !tile.tile<1x8xf32>
  return
}

// -----

func.func @recur_value(%s: memref<4x8xf32>, %q: !tile.tile<1x4xf32>, %v: !tile.tile<1x7xf32>, %i: index) {
  // expected-error @below {{the value must be '!tile.tile<1x8xf32>', not '!tile.tile<1x7xf32>'}}
  %o = tile.recur %q key %q value %v, %s[%i, %i] : (!tile.tile<1x4xf32>, !tile.tile<1x4xf32>, !tile.tile<1x7xf32>, memref<4x8xf32>, index, index) -> !tile.tile<1x8xf32>
  return
}

// -----

func.func @recur_indices(%s: memref<4x8xf32>, %q: !tile.tile<1x4xf32>, %i: index) {
  // expected-error @below {{expected a tensor of two or more dimensions, and an index for each}}
  %o = tile.recur %q, %s[%i] : (!tile.tile<1x4xf32>, memref<4x8xf32>, index) -> !tile.tile<1x8xf32>
  return
}

// -----

func.func @recur_queries(%s: memref<4x8xf32>, %q: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{expected one query and one sum}}
  %o = tile.recur %q, %s[%i, %i] : (!tile.tile<2x4xf32>, memref<4x8xf32>, index, index) -> !tile.tile<2x8xf32>
  return
}

// -----

func.func @recur_reads(%s: memref<4x8xf32>, %q: !tile.tile<1x4xf32>, %g: !tile.tile<1x1xf32>, %i: index) {
  // expected-error @below {{rows that are read only have no factor}}
  %o = tile.recur %q, %s[%i, %i] factor %g : (!tile.tile<1x4xf32>, memref<4x8xf32>, index, index, !tile.tile<1x1xf32>) -> !tile.tile<1x8xf32>
  return
}

// -----

func.func @recur_before(%s: memref<4x8xf32>, %q: !tile.tile<1x4xf32>, %i: index) {
  // expected-error @below {{rows that are read only are the same before and after}}
  %o = tile.recur %q, %s[%i, %i] {before} : (!tile.tile<1x4xf32>, memref<4x8xf32>, index, index) -> !tile.tile<1x8xf32>
  return
}

// -----

tile.kernel @recur_input attributes {arg_names = ["s"], num_inputs = 1} {
^bb0(%s: memref<4x8xf32>):
  %i = arith.constant 0 : index
  %q = tile.constant 1.0 : !tile.tile<1x4xf32>
  %v = tile.constant 1.0 : !tile.tile<1x8xf32>
  // expected-error @below {{updates an input}}
  %o = tile.recur %q key %q value %v, %s[%i, %i] : (!tile.tile<1x4xf32>, !tile.tile<1x4xf32>, !tile.tile<1x8xf32>, memref<4x8xf32>, index, index) -> !tile.tile<1x8xf32>
}

// -----

func.func @factor(%b: !tile.buffer<4x4>, %t: !tile.tile<4x4xf32>, %i: index) {
  // expected-error @below {{the factor must be a 1x1 tile}}
  tile.accumulate %t, %t, %b[%i] factor %t : !tile.tile<4x4xf32> : !tile.tile<4x4xf32>, !tile.tile<4x4xf32>, !tile.buffer<4x4>
  return
}

// -----

func.func @column() {
  // expected-error @below {{expected a column of 2 rows}}
  %t = tile.constant_column {values = array<f64: 1.0, 2.0>} : !tile.tile<3x1xf32>
  return
}

// -----

func.func @positions(%i: index) {
  // expected-error @below {{expected a row vector}}
  %t = tile.iota %i : !tile.tile<2x4xf32>
  return
}

// -----

func.func @dot(%a: !tile.tile<4x8xf32>) {
  // expected-error @below {{shapes do not fit}}
  %t = tile.dot %a, %a : !tile.tile<4x8xf32>, !tile.tile<4x8xf32> -> !tile.tile<4x8xf32>
  return
}

// -----

func.func @dot_acc(%a: !tile.tile<4x4xf32>, %c: !tile.tile<4x8xf32>) {
  // expected-error @below {{accumulator and result differ}}
  %t = tile.dot %a, %a acc %c : !tile.tile<4x8xf32> : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @dot_lower(%a: !tile.tile<4x4xf32>, %b: !tile.tile<4x8xf32>) {
  // expected-error @below {{a triangle needs a square tile}}
  %t = tile.dot %a, %b {lower} : !tile.tile<4x4xf32>, !tile.tile<4x8xf32> -> !tile.tile<4x8xf32>
  return
}

// -----

func.func @dot_two_triangles(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{a triangle is lower or upper, not both}}
  %t = tile.dot %a, %a {lower, upper} : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @dot_lower_lhs(%a: !tile.tile<8x4xf32>, %b: !tile.tile<4x8xf32>) {
  // expected-error @below {{a triangle needs a square tile}}
  %t = tile.dot %a, %b {lower_lhs} : !tile.tile<8x4xf32>, !tile.tile<4x8xf32> -> !tile.tile<8x8xf32>
  return
}

// -----

func.func @map_shape(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{cannot be repeated to '!tile.tile<4x4xf32>'}}
  %t = tile.map %a : !tile.tile<2x4xf32> -> !tile.tile<4x4xf32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map_arguments(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{expected one region argument for each operand}}
  %t = tile.map %a : !tile.tile<2x4xf32> -> !tile.tile<2x4xf32> {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map_yield(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{the region must yield one 'f32'}}
  %t = tile.map %a : !tile.tile<2x4xf32> -> !tile.tile<2x4xf32> {
  ^bb0(%x: f32):
    %y = arith.extf %x : f32 to f64
    tile.yield %y : f64
  }
  return
}

// -----

func.func @mask(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %t = tile.causal_mask %a : !tile.tile<2x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @reduce(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{a reduction over rows of '!tile.tile<2x4xf32>' is not '!tile.tile<2x1xf32>'}}
  %t = tile.reduce <add> <rows> %a : !tile.tile<2x4xf32> -> !tile.tile<2x1xf32>
  return
}

// -----

func.func @expand_table(%a: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{the table names row 2 of '!tile.tile<2x4xf32>'}}
  %t = tile.monomials %a[%i] {table = dense<[[0, 2]]> : tensor<1x2xi32>} : !tile.tile<2x4xf32> -> !tile.tile<1x4xf32>
  return
}

// -----

func.func @expand_weights(%a: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{expected one weight for each row of the table}}
  %t = tile.monomials %a[%i] {table = dense<[[0, 1]]> : tensor<1x2xi32>, weights = array<f64: 1.0, 2.0>} : !tile.tile<2x4xf32> -> !tile.tile<1x4xf32>
  return
}

// -----

func.func @expand_columns(%a: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{source and result have different numbers of columns}}
  %t = tile.monomials %a[%i] {table = dense<[[0, 1]]> : tensor<1x2xi32>} : !tile.tile<2x4xf32> -> !tile.tile<1x8xf32>
  return
}

// -----

func.func @contract_pairs(%g: !tile.tile<1x4xf32>, %a: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{expected a table of pairs of rows}}
  %t = tile.contract %g, %a[%i] acc %a {table = dense<[[0, 1, 1]]> : tensor<1x3xi32>} : !tile.tile<1x4xf32>, !tile.tile<2x4xf32>
  return
}

// -----

func.func @contract_table(%g: !tile.tile<1x4xf32>, %a: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{the table names row 2 of '!tile.tile<2x4xf32>'}}
  %t = tile.contract %g, %a[%i] acc %a {table = dense<[[0, 2]]> : tensor<1x2xi32>} : !tile.tile<1x4xf32>, !tile.tile<2x4xf32>
  return
}

// -----

func.func @contract_columns(%g: !tile.tile<1x8xf32>, %a: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{source and gradient have different numbers of columns}}
  %t = tile.contract %g, %a[%i] acc %a {table = dense<[[0, 1]]> : tensor<1x2xi32>} : !tile.tile<1x8xf32>, !tile.tile<2x4xf32>
  return
}

// -----

func.func @slice(%a: !tile.tile<2x4xf32>, %i: index) {
  // expected-error @below {{a window '!tile.tile<4x4xf32>' is larger than '!tile.tile<2x4xf32>'}}
  %t = tile.slice %a[%i, %i] : !tile.tile<2x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @concat_columns(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{operands have different numbers of columns}}
  %t = tile.concat %a : !tile.tile<2x4xf32> -> !tile.tile<2x8xf32>
  return
}

// -----

func.func @concat_rows(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{operands have 4 rows in all}}
  %t = tile.concat %a, %a : !tile.tile<2x4xf32>, !tile.tile<2x4xf32> -> !tile.tile<2x4xf32>
  return
}

// -----

func.func @select_rows(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{there is no row 2 in '!tile.tile<2x4xf32>'}}
  %t = tile.select_rows %a {rows = array<i64: 2>} : !tile.tile<2x4xf32> -> !tile.tile<1x4xf32>
  return
}

// -----

func.func @transpose(%a: !tile.tile<2x4xf32>) {
  // expected-error @below {{the transpose of '!tile.tile<2x4xf32>' is not '!tile.tile<2x4xf32>'}}
  %t = tile.transpose %a : !tile.tile<2x4xf32> -> !tile.tile<2x4xf32>
  return
}

// -----

// expected-error @below {{a cluster has 2, 4 or 8 programs, not 3}}
tile.kernel @three attributes {arg_names = ["o"], num_inputs = 0, cluster = 3} {
^bb0(%o: memref<?x?x?x8xf32>):
}

// -----

tile.kernel @alone attributes {arg_names = ["o"], num_inputs = 0} {
^bb0(%o: memref<?x?x?x8xf32>):
  // expected-error @below {{belongs into a kernel with `cluster`}}
  %rank = tile.cluster_rank : index
}

// -----

// expected-error @below {{'tile.kernel' op has no attribute 'program'; did you mean 'programs'?}}
tile.kernel @unknown attributes {arg_names = ["x"], num_inputs = 1, program = []} {
^bb0(%x: memref<?x?x?x4xf32>):
}

// -----

tile.kernel @unknown_in_op attributes {arg_names = ["x"], num_inputs = 1, scf.note = []} {
^bb0(%x: memref<4x4xf32>):
  %i = arith.constant 0 : index
  // expected-error @below {{'tile.load' op has no attribute 'transpose'; did you mean 'transposed'?}}
  %t = tile.load %x[%i, %i] {row_dim = 0, col_dim = 1, transpose} : memref<4x4xf32> -> !tile.tile<4x4xf32>
}

// -----

func.func @dot_of_f64_in_f32(%a: !tile.tile<4x4xf64>) {
  // expected-error @below {{operands of 'f64' and 'f64' have no sum in 'f32'}}
  %t = tile.dot %a, %a : !tile.tile<4x4xf64>, !tile.tile<4x4xf64> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @dot_of_f64_in_bf16(%a: !tile.tile<4x4xf64>) {
  // expected-error @below {{operands of 'f64' and 'f64' are not multiplied in bf16}}
  %t = tile.dot %a, %a precision <bf16> : !tile.tile<4x4xf64>, !tile.tile<4x4xf64> -> !tile.tile<4x4xf64>
  return
}

// -----

func.func @dot_of_f32_in_f64(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{operands of 'f32' and 'f32' are not multiplied in f64}}
  %t = tile.dot %a, %a precision <f64> : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @accumulate_f64(%b: !tile.buffer<4x4>, %t: !tile.tile<4x4xf64>, %i: index) {
  // expected-error @below {{operands of 'f64' and 'f64' have no sum in 'f32'}}
  tile.accumulate %t, %t, %b[%i] : !tile.tile<4x4xf64>, !tile.tile<4x4xf64>, !tile.buffer<4x4>
  return
}

// -----

func.func @accumulate_in_f64(%b: !tile.buffer<4x4>, %t: !tile.tile<4x4xf32>, %i: index) {
  // expected-error @below {{operands of 'f32' and 'f32' are not multiplied in f64}}
  tile.accumulate %t, %t, %b[%i] precision <f64> : !tile.tile<4x4xf32>, !tile.tile<4x4xf32>, !tile.buffer<4x4>
  return
}

// -----

func.func @dot_into_bf16(%a: !tile.tile<4x4xbf16>) {
  // expected-error @below {{a sum of products is f32 or f64, not 'bf16'}}
  %t = tile.dot %a, %a : !tile.tile<4x4xbf16>, !tile.tile<4x4xbf16> -> !tile.tile<4x4xbf16>
  return
}

// -----

func.func @dot_split_of_bf16(%a: !tile.tile<4x4xbf16>) {
  // expected-error @below {{neither 'bf16' nor 'bf16' leaves anything over to split}}
  %t = tile.dot %a, %a precision <split_bf16> : !tile.tile<4x4xbf16>, !tile.tile<4x4xbf16> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @buffer_of_f32(%b: !tile.buffer<4x4>, %i: index) {
  // expected-error @below {{rows of a buffer are f32, not 'bf16'}}
  %t = tile.read %b[%i] : !tile.buffer<4x4> -> !tile.tile<2x4xbf16>
  return
}

// -----

func.func @reduce_bf16(%a: !tile.tile<4x4xbf16>) {
  // expected-error @below {{elements of 'bf16' are combined in 'f32', not 'bf16'}}
  %t = tile.reduce <add> <rows> %a : !tile.tile<4x4xbf16> -> !tile.tile<1x4xbf16>
  return
}

// -----

func.func @slice_converts(%a: !tile.tile<4x4xf32>, %i: index) {
  // expected-error @below {{makes 'bf16' of 'f32'}}
  %t = tile.slice %a[%i, %i] : !tile.tile<4x4xf32> -> !tile.tile<2x4xbf16>
  return
}

// -----

func.func @transpose_converts(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{makes 'f16' of 'f32'}}
  %t = tile.transpose %a : !tile.tile<4x4xf32> -> !tile.tile<4x4xf16>
  return
}

// -----

func.func @concat_converts(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{makes 'bf16' of 'f32'}}
  %t = tile.concat %a : !tile.tile<4x4xf32> -> !tile.tile<4x4xbf16>
  return
}

// -----

func.func @select_rows_converts(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{makes 'bf16' of 'f32'}}
  %t = tile.select_rows %a {rows = array<i64: 1>} : !tile.tile<4x4xf32> -> !tile.tile<1x4xbf16>
  return
}

// -----

func.func @expand_converts(%a: !tile.tile<4x4xf32>, %i: index) {
  // expected-error @below {{makes 'bf16' of 'f32'}}
  %t = tile.monomials %a[%i] {table = dense<[[0, 0]]> : tensor<1x2xi32>} : !tile.tile<4x4xf32> -> !tile.tile<1x4xbf16>
  return
}

// -----

func.func @prefetched_by_no_nest(%m: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %n step %c4 {
    // expected-error @below {{is fetched by #tile.nest<1>, which the loop around it has not}}
    %a = tile.load %m[%i, %c0] {row_dim = 0, col_dim = 1, tile.prefetched_by = #tile.nest<1>} : memref<?x?xf32> -> !tile.tile<4x4xf32>
    %p = tile.dot %a, %a {tile.nest = #tile.nest<0>} : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  }
  return
}

// -----

func.func @prefetched_without_loop(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{has 'tile.prefetched_by' outside of a loop}}
  %a = tile.load %m[%i, %i] {row_dim = 0, col_dim = 1, tile.prefetched_by = #tile.nest<0>} : memref<?x?xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @nest_of_no_iterations(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{expected a number from 0 on and at least 1 iteration, got 0 and 0}}
  %p = tile.dot %a, %a {tile.nest = #tile.nest<0 in 0 iterations>} : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @nest_of_a_load(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{has 'tile.nest', which is for products, maps, masks and updates}}
  %a = tile.load %m[%i, %i] {row_dim = 0, col_dim = 1, tile.nest = #tile.nest<0>} : memref<?x?xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @nest_without_type(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{expected 'tile.nest' of #tile.nest, got 0 : i64}}
  %p = tile.dot %a, %a {tile.nest = 0} : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

func.func @misspelt_nest(%a: !tile.tile<4x4xf32>) {
  // expected-error @below {{has no attribute 'tile.nests'; did you mean 'tile.nest'?}}
  %p = tile.dot %a, %a {tile.nests = #tile.nest<0>} : !tile.tile<4x4xf32>, !tile.tile<4x4xf32> -> !tile.tile<4x4xf32>
  return
}

// -----

// expected-error @below {{expected 'tile.scratch_bytes' to be an i64 from 0 on, got -1 : i64}}
func.func @negative_scratch() attributes {tile.scratch_bytes = -1 : i64} {
  return
}

// -----

// expected-error @below {{expected 'tile.scratch_bytes' to be an i64 from 0 on, got "64"}}
llvm.func @scratch_in_words() attributes {tile.scratch_bytes = "64"} {
  llvm.return
}

// -----

// expected-error @below {{has 'tile.scratch_bytes', which is for functions}}
module attributes {tile.scratch_bytes = 64 : i64} {
}

// -----

tile.kernel @toeplitz_rows attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>):
  %c = tile.constant 1.0 : !tile.tile<4x1xf32>
  // expected-error @below {{expected a column of 7 numbers, one for each diagonal of '!tile.tile<4x4xf32>', got '!tile.tile<4x1xf32>'}}
  %t = tile.toeplitz %c : !tile.tile<4x1xf32> -> !tile.tile<4x4xf32>
}

// -----

tile.kernel @toeplitz_row attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>):
  %c = tile.constant 1.0 : !tile.tile<1x3xf32>
  // expected-error @below {{expected a column of 3 numbers}}
  %t = tile.toeplitz %c : !tile.tile<1x3xf32> -> !tile.tile<2x2xf32>
}

// -----

tile.kernel @diagonal_sums attributes {arg_names = ["x"], num_inputs = 1} {
^bb0(%x: memref<4xf32>):
  %c = tile.constant 1.0 : !tile.tile<2x3xf32>
  // expected-error @below {{expected a column of 4 numbers, one for each diagonal of '!tile.tile<2x3xf32>', got '!tile.tile<5x1xf32>'}}
  %t = tile.diagonal_sums %c : !tile.tile<2x3xf32> -> !tile.tile<5x1xf32>
}

// -----

// expected-error @below {{custom op 'tile.kernl' is unknown; did you mean 'kernel'?}}
tile.kernl @unknown_op

// -----

// expected-error @below {{custom op 'tile.something' is unknown}}
tile.something

// -----

tile.kernel @odd_pairs attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  %x = tile.constant 1.0 : !tile.tile<3x4xf32>
  // expected-error @below {{pairs of rows have an even number of rows of 16 bits, not 3 rows of 'bf16'}}
  %p = tile.pack %x : !tile.tile<3x4xf32> -> !tile.tile<3x4xbf16, row_pairs>
}

// -----

tile.kernel @pairs_of_f32 attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  // expected-error @below {{pairs of rows have an even number of rows of 16 bits, not 4 rows of 'f32'}}
  %x = tile.constant 1.0 : !tile.tile<4x4xf32, row_pairs>
}

// -----

tile.kernel @unknown_layout attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  // expected-error @below {{expected one of [rows, row_pairs] for the order of a tile}}
  %x = tile.constant 1.0 : !tile.tile<4x4xbf16, columns>
}

// -----

tile.kernel @pack_f64 attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  %x = tile.constant 1.0 : !tile.tile<4x4xf64>
  // expected-error @below {{expected a tile of f32, not '!tile.tile<4x4xf64>'}}
  %p = tile.pack %x : !tile.tile<4x4xf64> -> !tile.tile<4x4xbf16>
}

// -----

tile.kernel @pack_shape attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  %x = tile.constant 1.0 : !tile.tile<4x4xf32>
  // expected-error @below {{the result '!tile.tile<4x2xbf16>' is not '!tile.tile<4x4xf32>' in bf16}}
  %p = tile.pack %x : !tile.tile<4x4xf32> -> !tile.tile<4x2xbf16>
}

// -----

tile.kernel @pack_twice attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  %x = tile.constant 1.0 : !tile.tile<4x4xf32>
  // expected-error @below {{two results are '!tile.tile<4x4xbf16>'}}
  %p, %q = tile.pack %x : !tile.tile<4x4xf32> -> !tile.tile<4x4xbf16>, !tile.tile<4x4xbf16>
}

// -----

tile.kernel @pack_nothing attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  %x = tile.constant 1.0 : !tile.tile<4x4xf32>
  // expected-error @below {{expected a result}}
  "tile.pack"(%x) : (!tile.tile<4x4xf32>) -> ()
}

// -----

tile.kernel @window_of_pairs attributes {arg_names = ["a"], num_inputs = 1} {
^bb0(%a: memref<?x?xf32>):
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : !tile.tile<4x4xf32>
  %p = tile.pack %x : !tile.tile<4x4xf32> -> !tile.tile<4x4xbf16, row_pairs>
  // expected-error @below {{makes '!tile.tile<2x4xbf16>' of '!tile.tile<4x4xbf16, row_pairs>', in another layout}}
  %s = tile.slice %p[%c0, %c0] : !tile.tile<4x4xbf16, row_pairs> -> !tile.tile<2x4xbf16>
}
