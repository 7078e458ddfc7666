//===- TileOps.td - the ops of tile kernels -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_OPS
#define TILE_OPS

include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

include "dialects/Tile/LaunchOps.td"

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel",
    [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a tile kernel and its tensors";
  let description = [{
    The body is what one program does. Its arguments are the tensors, inputs first, as
    memrefs with dynamic strides whose innermost stride is 1. Programs are independent of each
    other, and none stores to an input.

    `programs` says how many there are, as the stage of `tile.entry` that launches the kernel does:
    one extent for each axis of their grid, the last of which is counted fastest, or a single program
    without. `tile.program_id` is a program's coordinate along an axis. What is computed from it, the
    head of keys that serves a head of queries for instance, is ordinary arithmetic in the body.

    With `cluster = N` there are N programs where there was one, which run together on multiprocessors
    that see each other's memory: `tile.cluster_rank` tells them apart, and `tile.cluster_sum` adds
    what they have.

    What is verified of the grid: an extent names tensors of the kernel, and all but the first are
    numbers or sizes, `dim(t, d)`, so that a program's number can be taken apart.

    ```mlir
    tile.kernel @copy programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
    ^bb0(%q: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>):
      %batch = tile.program_id 0 : index
      %head = tile.program_id 1 : index
      ...
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       DefaultValuedAttr<Tile_ExtentArrayAttr, "{}">:$programs,
                       StrArrayAttr:$arg_names, I64Attr:$num_inputs,
                       OptionalAttr<I64Attr>:$cluster);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $sym_name (`programs` custom<Extents>($programs)^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "tile"; }
    /// The tensors, inputs first.
    unsigned getNumTensors() { return getArgNames().size(); }
    ::mlir::Value getTensor(unsigned i) { return getBody().getArgument(i); }
    /// The axes of the grid of programs.
    ::llvm::SmallVector<ExtentAttr> getAxes() {
      return ::llvm::to_vector(getPrograms().getAsRange<ExtentAttr>());
    }
    /// Programs of a cluster, 1 where there are none.
    int64_t getClusterSize() { return getCluster().value_or(1); }
  }];
}

def Tile_ProgramIdOp : Tile_Op<"program_id",
    [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the program's coordinate along an axis of its kernel's grid";
  let description = [{
    From 0 to n - 1, where n is the extent of this number in the kernel's `programs`.

    ```mlir
    %head = tile.program_id 1 : index
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Index:$number);
  let assemblyFormat = "$axis attr-dict `:` type($number)";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile of a tensor; what lies past the end reads as zero";
  let description = [{
    One index for each dimension of the tensor says where the tile starts. Rows run
    along dimension `row_dim`, columns along `col_dim`; -1 stands for a tile of one row or
    one column. Elements are converted to the tile's. Where `valid` is given, only that many rows
    (columns where `row_dim` is -1 or the tile is read `transposed`) are in the tensor.

    With `transposed` the result is the transpose of what the dimensions say.

    A kernel's inputs keep their elements while it runs, so that equal loads of one of them are
    one.

    ```mlir
    %x = tile.load %q[%b, %t, %h, %c0] valid %n {row_dim = 1, col_dim = 3, transposed}
      : memref<?x?x?x64xbf16> -> !tile.tile<64x32xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$memref, Variadic<Index>:$indices, Optional<Index>:$valid,
                       I64Attr:$row_dim, I64Attr:$col_dim, UnitAttr:$transposed);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $memref `[` $indices `]` (`valid` $valid^)? attr-dict `:` type($memref) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ClusterRankOp : Tile_Op<"cluster_rank", [Pure]> {
  let summary = "the program's number in its cluster";
  let description = [{
    From 0 to N - 1, in a kernel with `cluster = N`.

    ```mlir
    %rank = tile.cluster_rank : index
    ```
  }];
  let results = (outs Index:$rank);
  let assemblyFormat = "attr-dict `:` type($rank)";
}

def Tile_ClusterSumOp : Tile_Op<"cluster_sum", [SameOperandsAndResultType]> {
  let summary = "the sum of what the programs of a cluster have";
  let description = [{
    Every program of the cluster must come here, and each has the sum after it.

    ```mlir
    %all = tile.cluster_sum %part : !tile.tile<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "writes a tile to a tensor, rows past the end left alone";
  let description = [{
    As `tile.load`, the other way round: only the first `valid` rows are written where it is
    given. Elements are rounded to the tensor's type.
  }];
  let arguments = (ins Tile_TileType:$tile, Arg<AnyMemRef, "", [MemWrite]>:$memref,
                       Variadic<Index>:$indices, Optional<Index>:$valid, I64Attr:$row_dim, I64Attr:$col_dim);
  let assemblyFormat = [{
    $tile `,` $memref `[` $indices `]` (`valid` $valid^)? attr-dict `:` type($tile) `,`
    type($memref)
  }];
  let hasVerifier = 1;
}

def Tile_BufferOp : Tile_Op<"buffer"> {
  let summary = "a buffer of zeros";
  let description = [{
    With `persistent` it holds what the last call of this program left in it, or nothing
    of use in the first one: a launch may cut a sequence into several calls.

    Example: `%s = tile.buffer : !tile.buffer<1024x64>`
  }];
  let arguments = (ins UnitAttr:$persistent);
  let results = (outs Res<Tile_BufferType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_ReadOp : Tile_Op<"read"> {
  let summary = "rows of a buffer as a tile";
  let description = [{
    The value is that of the moment: no write to these rows may come between this op and
    the uses of its result.
  }];
  let arguments = (ins Arg<Tile_BufferType, "", [MemRead]>:$buffer, Index:$row);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$buffer `[` $row `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_WriteOp : Tile_Op<"write"> {
  let summary = "writes a tile to rows of a buffer";
  let arguments = (ins Tile_TileType:$tile, Arg<Tile_BufferType, "", [MemWrite]>:$buffer, Index:$row);
  let assemblyFormat = "$tile `,` $buffer `[` $row `]` attr-dict `:` type($tile) `,` type($buffer)";
  let hasVerifier = 1;
}

def Tile_AccumulateOp : Tile_Op<"accumulate", [AttrSizedOperandSegments]> {
  let summary = "buffer rows += A B, the buffer's rows scaled first where a factor is given";
  let description = [{
    The state's update S <- g S + phi_k V. A is M x K, B is K x N; the first `bound` of
    the K terms are summed where it is given. `precision` is that of `tile.dot`.

    ```mlir
    tile.accumulate %phi_k, %v, %s[%c0] bound %n precision <bf16>
      : !tile.tile<128x64xf32>, !tile.tile<64x32xf32>, !tile.buffer<128x32>
    ```
  }];
  let arguments = (ins Tile_TileType:$lhs, Tile_TileType:$rhs,
                       Arg<Tile_BufferType, "", [MemRead, MemWrite]>:$buffer, Index:$row, Optional<Index>:$bound, Optional<Tile_TileType>:$factor,
                       OptionalAttr<Tile_PrecisionAttr>:$precision);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $buffer `[` $row `]` (`bound` $bound^)? (`factor` $factor^ `:` type($factor))?
    (`precision` $precision^)? attr-dict `:` type($lhs) `,` type($rhs) `,` type($buffer)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// In what the operands are multiplied: in f32 where nothing else is said.
    Precision multipliesIn() { return getPrecision().value_or(Precision::F32); }
  }];
}

def Tile_RecurOp : Tile_Op<"recur", [AttrSizedOperandSegments]> {
  let summary = "rows of a tensor <- factor rows + key^T value, and what a query has of them then";
  let description = [{
    One step of a recurrence, S <- g S + k v^T and o + q^T S, over rows of a state where it lies. Each
    element of them is read once and written once. The rows run along the last dimension of the
    tensor but one, their elements along the last one; `key` and `query` have an element for each
    row. Without a factor the rows keep what they have, without a key they are read only.

    Sums are f32, in the order of the rows for each element of the tensor, not for the result.

    ```mlir
    %o = tile.recur %q key %k value %v, %s[%slot, %head, %c0, %c0] factor %g acc %sum
      : (!tile.tile<1x64xf32>, !tile.tile<1x64xf32>, !tile.tile<1x32xf32>, memref<?x?x64x32xf32>,
         index, index, index, index, !tile.tile<1x1xf32>, !tile.tile<1x32xf32>) -> !tile.tile<1x32xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$query, Optional<Tile_TileType>:$key,
                       Optional<Tile_TileType>:$value,
                       Arg<AnyMemRef, "", [MemRead, MemWrite]>:$memref, Variadic<Index>:$indices,
                       Optional<Tile_TileType>:$factor, Optional<Tile_TileType>:$acc);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $query (`key` $key^ `value` $value)? `,` $memref `[` $indices `]` (`factor` $factor^)?
    (`acc` $acc^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Tile_ConstantOp : Tile_Op<"constant", [Pure]> {
  let summary = "the same number everywhere";
  let arguments = (ins F64Attr:$value);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Tile_ConstantColumnOp : Tile_Op<"constant_column", [Pure]> {
  let summary = "a column vector of constants";
  let arguments = (ins DenseF64ArrayAttr:$values);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "the row vector start, start + 1, ..., as elements of the tile's type";
  let arguments = (ins Index:$start);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$start attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AttrSizedOperandSegments]> {
  let summary = "A B, added to an accumulator where one is given";
  let description = [{
    A is M x K, or K x M with `lhs_transposed`; B is K x N. The first `bound` of the K terms
    are summed where it is given. `lower` computes the entries at and below the diagonal
    only (what stands above is unspecified). `lower_lhs` says that A is zero above its
    diagonal: row i sums its first i + 1 terms. `upper` and `upper_lhs` are the same of what is at
    and above the diagonal: there row i sums the terms from i on.

    `precision` says to what the operands are rounded before they are multiplied
    (`#tile.precision`); without it they are not. `--tile-set-precision` gives it to the products of a
    tile kernel for a target.

    ```mlir
    %p = tile.dot %phi_q, %phi_k precision <bf16> {lhs_transposed, lower}
      : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$lhs, Tile_TileType:$rhs, Optional<Tile_TileType>:$acc,
                       Optional<Index>:$bound, UnitAttr:$lhs_transposed, UnitAttr:$lower, UnitAttr:$lower_lhs,
                       UnitAttr:$upper, UnitAttr:$upper_lhs,
                       OptionalAttr<Tile_PrecisionAttr>:$precision);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $acc^ `:` type($acc))? (`bound` $bound^)? (`precision` $precision^)?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// In what the operands are multiplied: in the result's type where nothing else is said.
    Precision multipliesIn() {
      bool f64 = getResult().getType().getElementType().isF64();
      return getPrecision().value_or(f64 ? Precision::F64 : Precision::F32);
    }
    /// The entries that are computed.
    Triangle getTriangle() {
      return getLower() ? Triangle::Lower : getUpper() ? Triangle::Upper : Triangle::None;
    }
    /// The entries of the left factor that are not zero.
    Triangle getLhsTriangle() {
      return getLowerLhs() ? Triangle::Lower : getUpperLhs() ? Triangle::Upper : Triangle::None;
    }
  }];
}

def Tile_MapOp : Tile_Op<"map", [Pure, SingleBlock]> {
  let summary = "an element-wise function";
  let description = [{
    The region computes one element from one element of each operand. An operand of one
    row, one column or both is repeated.

    ```mlir
    %y = tile.map %a, %b : !tile.tile<64x32xf32>, !tile.tile<1x32xf32> -> !tile.tile<64x32xf32> {
    ^bb0(%x: f32, %s: f32):
      %r = arith.mulf %x, %s : f32
      tile.yield %r : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_TileType>:$inputs);
  let results = (outs Tile_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result) $body";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, HasParent<"MapOp">]> {
  let summary = "the element that a map computes";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_CausalMaskOp : Tile_Op<"causal_mask", [Pure, SameOperandsAndResultType]> {
  let summary = "keeps entries at and below the diagonal, zero elsewhere";
  let description = "With `upper` it keeps those at and above the diagonal.";
  let arguments = (ins Tile_TileType:$input, UnitAttr:$upper);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// The entries that are kept.
    Triangle getTriangle() { return getUpper() ? Triangle::Upper : Triangle::Lower; }
  }];
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "sum or maximum over rows (a row vector) or columns (a column vector)";
  let description = [{
    `bound` limits the sum to the first rows or columns. `lower` combines the entries at
    and below the diagonal only, `upper` those at and above it.
  }];
  let arguments = (ins Tile_TileType:$input, Optional<Index>:$bound, Tile_ReduceKindAttr:$kind,
                       Tile_AxisAttr:$axis, UnitAttr:$lower, UnitAttr:$upper);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $kind $axis $input (`bound` $bound^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The entries that are combined.
    Triangle getTriangle() {
      return getLower() ? Triangle::Lower : getUpper() ? Triangle::Upper : Triangle::None;
    }
  }];
}

def Tile_CumulativeSumOp : Tile_Op<"cumulative_sum", [Pure, SameOperandsAndResultType]> {
  let summary = "running sums of a row vector, each a sum of two values";
  let description = [{
    `high` is the sum rounded to f32 and `low` what that took from it, so that
    (high_i - high_j) + (low_i - low_j), the sum of what lies between i and j, has the digits of its
    own size and not of the size of all that came before.

    ```mlir
    %high, %low = tile.cumulative_sum %x : !tile.tile<1x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$high, Tile_TileType:$low);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tile_MonomialsOp : Tile_Op<"monomials", [Pure]> {
  let summary = "a block of monomials of rows: features of a tensor or symmetric power";
  let description = [{
    Row r of the result is the product of the source's rows table[first + r][0..p), times
    weights[first + r] where weights are given. The table is a constant of D x p row indices.

    ```mlir
    %phi = tile.monomials %x[%f] {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>}
      : !tile.tile<2x64xf32> -> !tile.tile<3x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$source, Index:$first, I32ElementsAttr:$table,
                       OptionalAttr<DenseF64ArrayAttr>:$weights);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$source `[` $first `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ContractOp : Tile_Op<"contract", [Pure, AllTypesMatch<["source", "acc", "result"]>]> {
  let summary = "an accumulator plus the gradient of products of two rows in these rows";
  let description = [{
    The adjoint of `tile.monomials` with the same table of pairs and the same weights: row f of
    `gradient` is that of the product of rows a and b, `table[first + f]`. Times its weight
    and row b of the source it is added to row a of the accumulator, times row a to row b. The
    columns are independent of each other.

    So a matrix that is symmetric, and of which `gradient` has each element once, is multiplied by a
    vector: the elements of the diagonal, whose two slots are the same row, have the weight 1/2.

    ```mlir
    %y = tile.contract %g, %x[%f] acc %sum {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>,
                                            weights = array<f64: 0.5, 1.0, 0.5>}
      : !tile.tile<3x64xf32>, !tile.tile<2x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$gradient, Tile_TileType:$source, Index:$first, Tile_TileType:$acc,
                       I32ElementsAttr:$table, OptionalAttr<DenseF64ArrayAttr>:$weights);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $gradient `,` $source `[` $first `]` `acc` $acc attr-dict `:` type($gradient) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "a window of a tile";
  let arguments = (ins Tile_TileType:$source, Index:$row, Index:$column);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$source `[` $row `,` $column `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ConcatOp : Tile_Op<"concat", [Pure]> {
  let summary = "tiles stacked row upon row";
  let arguments = (ins Variadic<Tile_TileType>:$inputs);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SelectRowsOp : Tile_Op<"select_rows", [Pure]> {
  let summary = "rows in a given order";
  let arguments = (ins Tile_TileType:$source, DenseI64ArrayAttr:$rows);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "rows become columns";
  let arguments = (ins Tile_TileType:$source);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

#endif // TILE_OPS
