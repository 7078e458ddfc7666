//===- ValueOps.td - tiles computed from tiles ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_VALUE_OPS
#define TILE_VALUE_OPS

include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

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
    A is M x K, or K x M with `lhs_transposed`; B is K x N. With `bound`, the first `bound` of the K
    terms are summed. `lower` computes only the entries at and below the diagonal; the entries above
    are unspecified. `lower_lhs` says that A is zero above its diagonal: row i sums its first i + 1
    terms. `upper` and `upper_lhs` are the same for the entries at and above the diagonal: there row
    i sums the terms from i on.

    `precision` is the format to which the operands are rounded before they are multiplied
    (`#tile.precision`). Without it they are not rounded. `--tile-set-precision` sets it for all
    products of a tile kernel for a target.

    ```mlir
    %p = tile.dot %phi_q, %phi_k precision <bf16> {lhs_transposed, lower}
      : <128x64xf32>, <128x64xf32> -> <64x64xf32>
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
    %y = tile.map %a, %b : !tile.tile<64x32xf32>, !tile.tile<1x32xf32> -> <64x32xf32> {
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

def Tile_PackOp : Tile_Op<"pack", [Pure]> {
  let summary = "a tile rounded to bf16, in the orders in which products read it";
  let description = [{
    Each result is the source with its elements rounded to the nearest bf16, ties to even, in the
    layout of its type. Processors that multiply pairs of bf16 take the right operand of a product,
    and a transposed left one, in `row_pairs`; a left operand that is not transposed lies in rows of
    an even length. `--tile-pack-operands` inserts these ops.

    ```mlir
    %rows, %pairs = tile.pack %phi : <64x32xf32>
      -> !tile.tile<64x32xbf16>, !tile.tile<64x32xbf16, row_pairs>
    ```
  }];
  let arguments = (ins Tile_TileType:$source);
  let results = (outs Variadic<Tile_TileType>:$packed);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($packed)";
  let hasVerifier = 1;
}

def Tile_CausalMaskOp : Tile_Op<"causal_mask", [Pure, SameOperandsAndResultType]> {
  let summary = "keeps entries at and below the diagonal, zero elsewhere";
  let description = "With `upper` it keeps the entries at and above the diagonal.";
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
    `bound` limits the sum to the first rows or columns. `lower` combines only the entries at and
    below the diagonal, `upper` only the entries at and above it.
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
    `high` is the sum rounded to f32 and `low` the rounding error. The sum of the elements between i
    and j is `(high_i - high_j) + (low_i - low_j)`. It has the relative accuracy of its own size,
    not of the size of all earlier elements.

    ```mlir
    %high, %low = tile.cumulative_sum %x : <1x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$high, Tile_TileType:$low);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tile_MonomialsOp : Tile_Op<"monomials", [Pure]> {
  let summary = "a block of monomials of rows: features of a tensor or symmetric power";
  let description = [{
    Row r of the result is the product of the source's rows `table[first + r][0..p)`, times
    `weights[first + r]` if weights are given. The table is a constant of D x p row indices.

    ```mlir
    %phi = tile.monomials %x[%f] {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>}
      : <2x64xf32> -> <3x64xf32>
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
    The adjoint of `tile.monomials` with the same table of pairs and the same weights. Row f of
    `gradient` is the gradient of the product of rows a and b, `table[first + f]`. Times its weight
    and row b of the source it is added to row a of the accumulator, and times row a to row b. The
    columns are independent of each other.

    So the op multiplies a vector by a symmetric matrix of which `gradient` has each element once.
    Elements of the diagonal, whose two slots are the same row, then have the weight 1/2.

    ```mlir
    %y = tile.contract %g, %x[%f] acc %sum {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>,
                                            weights = array<f64: 0.5, 1.0, 0.5>}
      : <3x64xf32>, <2x64xf32>
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

def Tile_ToeplitzOp : Tile_Op<"toeplitz", [Pure]> {
  let summary = "a tile whose entries are equal along each diagonal";
  let description = [{
    Entry (r, c) of an R x C tile is row r - c + C - 1 of the column of R + C - 1 numbers. So these
    follow the diagonals from the upper right corner to the lower left one. With `transposed` it is
    row c - r + R - 1: the diagonals from the lower left corner on.

    ```mlir
    %t = tile.toeplitz %c : !tile.tile<127x1xf32> -> !tile.tile<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$diagonals, UnitAttr:$transposed);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$diagonals attr-dict `:` type($diagonals) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The diagonal of entry (0, 0).
    int64_t getOrigin() {
      TileType type = getResult().getType();
      return (getTransposed() ? type.getRows() : type.getColumns()) - 1;
    }
  }];
}

def Tile_DiagonalSumsOp : Tile_Op<"diagonal_sums", [Pure]> {
  let summary = "the sum of each diagonal of a tile, a column";
  let description = [{
    The adjoint of `tile.toeplitz`: row d of the result is the sum of the entries that read row d of
    the column there.

    ```mlir
    %d = tile.diagonal_sums %p : !tile.tile<64x64xf32> -> !tile.tile<127x1xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$source, UnitAttr:$transposed);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The diagonal of entry (0, 0).
    int64_t getOrigin() {
      TileType type = getSource().getType();
      return (getTransposed() ? type.getRows() : type.getColumns()) - 1;
    }
  }];
}

#endif // TILE_VALUE_OPS
