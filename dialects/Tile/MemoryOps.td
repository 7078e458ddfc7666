//===- MemoryOps.td - tensors and buffers, read and written ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_MEMORY_OPS
#define TILE_MEMORY_OPS

include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_LoadOp : Tile_Op<"load",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile of a tensor; elements past the end read as zero";
  let description = [{
    One index for each dimension of the tensor says where the tile starts. Rows run along dimension
    `row_dim`, columns along `col_dim`; -1 stands for a tile of one row or one column. Elements are
    converted to the element type of the tile. With `valid`, only that many rows are in the tensor.
    They are columns if `row_dim` is -1 or the tile is read `transposed`.

    With `transposed` the result is the transpose of the tile that the dimensions describe.

    A kernel's inputs keep their elements while it runs, so equal loads of one input are the same
    load.

    ```mlir
    %x = tile.load %q[%b, %t, %h, %c0] valid %n {row_dim = 1, col_dim = 3, transposed}
      : memref<?x?x?x64xbf16> -> <64x32xf32>
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

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "writes a tile to a tensor, rows past the end left alone";
  let description = [{
    The inverse of `tile.load`: with `valid`, only the first `valid` rows are written. Elements are
    rounded to the tensor's type.
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
    With `persistent` it keeps its contents from the last call of this program, since a launch may
    split a sequence into several calls. In the first call the contents are undefined.

    Example: `%s = tile.buffer : <1024x64>`
  }];
  let arguments = (ins UnitAttr:$persistent);
  let results = (outs Res<Tile_BufferType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_ReadOp : Tile_Op<"read"> {
  let summary = "rows of a buffer as a tile";
  let description = [{
    The result is a view of the buffer as it is here, and no copy. So no write to these rows may
    come between this op and the uses of its result.
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
    The state's update S <- g S + phi_k V. A is M x K, B is K x N. With `bound`, the first `bound`
    of the K terms are summed. `precision` is the same as in `tile.dot`.

    ```mlir
    tile.accumulate %phi_k, %v, %s[%c0] bound %n precision <bf16>
      : <128x64xf32>, <64x32xf32>, <128x32>
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
  let summary = "rows of a tensor <- factor rows + key^T value, then a query's product with them";
  let description = [{
    One step of a recurrence, S <- g S + k v^T and o + q^T S, over rows of a state in place. Each
    element of them is read once and written once. The rows run along the last dimension but one of
    the tensor, their elements along the last one. `key` and `query` have an element for each row.
    The factor is one number, or one for each row. Without it the rows keep their contents; without
    a key they are only read. With `before` the sums use the rows before all these updates.

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
                       Optional<Tile_TileType>:$factor, Optional<Tile_TileType>:$acc,
                       UnitAttr:$before);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $query (`key` $key^ `value` $value)? `,` $memref `[` $indices `]` (`factor` $factor^)?
    (`acc` $acc^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TILE_MEMORY_OPS
