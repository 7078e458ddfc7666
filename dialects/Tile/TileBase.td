//===- TileBase.td - the tile dialect and its types -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_BASE
#define TILE_BASE

include "dialects/Attributes/KnownAttributes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::polyattn::tile";
  let summary = "How one block of an attention is computed.";
  let description = [{
    A tile kernel is the program of one (batch, head), block of positions by block. Values are tiles
    of static shape; sizes of batch, sequence and heads are dynamic. The dialect does not describe a
    machine. Lowerings decide where a tile lives, how it is laid out and how an op is split into
    vectors.

    Vectors of features are stored *transposed* throughout: a tile of n features of C tokens is n x
    C. So tokens run along the contiguous dimension, any n needs no padding, and reductions over
    features are sums of rows.

    Values are immutable, except for buffers. Buffers hold the values that live across blocks: the
    state S and z. Only `accumulate` and `write` write them.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Refuses an op that the dialect does not have, with the nearest name that it has.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def Tile_TileType : TypeDef<Tile_Dialect, "Tile"> {
  let mnemonic = "tile";
  let summary = "a matrix of elements, rows x columns";
  let description = [{
    `!tile.tile<64x128xf32>`. A row vector is 1 x n, a column vector n x 1. Elements are f32 or f64,
    or bf16 or f16 in operands of products: a `tile.map` with `arith.truncf` or `arith.extf`
    converts them, and `tile.pack` rounds to bf16. Sums and buffers are never of 16 bits.

    The layout says in which order a matrix of 16 bits lies in memory. Without one its elements lie
    row after row. In `!tile.tile<64x128xbf16, row_pairs>` elements of two rows alternate: (0, 0),
    (1, 0), (0, 1), (1, 1), and so on, then those of the next two rows. So two terms of a sum over
    rows are one word of 32 bits, as instructions that multiply pairs of bf16 read them. The number
    of rows is even. Values do not depend on the layout.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
                        "Layout":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilder<(ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType), [{
      return $_get($_ctxt, rows, columns, elementType, Layout::Rows);
    }]>,
  ];
  let extraClassDeclaration = [{
    static TileType f32(::mlir::MLIRContext *context, int64_t rows, int64_t columns) {
      return get(context, rows, columns, ::mlir::Float32Type::get(context));
    }
    /// A tile of this shape with other elements.
    TileType withElements(::mlir::Type element, Layout layout = Layout::Rows) {
      return get(getContext(), getRows(), getColumns(), element, layout);
    }
  }];
}

def Tile_BufferType : TypeDef<Tile_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a mutable matrix of f32 that lives across blocks";
  let description = "`!tile.buffer<2080x64>`";
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let hasCustomAssemblyFormat = 1;
}

class Tile_Enum<string name, string doc, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, doc, cases> {
  let cppNamespace = "::polyattn::tile";
  let genSpecializedAttr = 0;
}

def Tile_Layout : Tile_Enum<"Layout", "the order of a tile's elements in memory", [
  I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"RowPairs", 1, "row_pairs">]>;

def Tile_ReduceKind : Tile_Enum<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">]>;
def Tile_ReduceKindAttr : EnumAttr<Tile_Dialect, Tile_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_Axis : Tile_Enum<"Axis", "which dimension is reduced", [
  I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Columns", 1, "columns">]>;
def Tile_AxisAttr : EnumAttr<Tile_Dialect, Tile_Axis, "axis"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_Precision : Tile_Enum<"Precision", "the format in which a product multiplies its operands", [
  I32EnumAttrCase<"F64", 0, "f64">, I32EnumAttrCase<"F32", 1, "f32">,
  I32EnumAttrCase<"TF32", 2, "tf32">, I32EnumAttrCase<"SplitTF32", 3, "split_tf32">,
  I32EnumAttrCase<"BF16", 4, "bf16">, I32EnumAttrCase<"SplitBF16", 5, "split_bf16">,
  I32EnumAttrCase<"F16", 6, "f16">]>;
def Tile_PrecisionAttr : EnumAttr<Tile_Dialect, Tile_Precision, "precision"> {
  let summary = "the format to which a product rounds its operands";
  let description = [{
    | | an operand becomes | rounded |
    |---|---|---|
    | `f64`, `f32` | itself | never: these are the elements of tiles |
    | `tf32` | 10 bits of mantissa, the exponents of f32 | to nearest, ties away from zero |
    | `bf16` | 7 bits of mantissa, the exponents of f32 | to nearest, ties to even |
    | `f16` | 10 bits of mantissa, exponents up to 2^15 | to nearest, ties to even |
    | `split_tf32`, `split_bf16` | a sum high + low of two such values | low is the rest, rounded |

    A split product is high high + high low + low high. Elements that the format holds exactly, such
    as the elements of a bf16 tile in `tf32`, are not changed. Products of operands are exact or
    rounded to f32, and summed in f32. Products of f64 are summed in f64. A lowering may store a
    matrix in 16 bits once it rounds the matrix to 16 bits for a product of matrices. All uses of
    the matrix then see the rounded elements. The lowering to tensor cores does this, and so does
    the interpreter when it rounds.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tile_NestAttr : AttrDef<Tile_Dialect, "Nest"> {
  let mnemonic = "nest";
  let summary = "a nest of loops that fetches rows of tensors while it computes";
  let description = [{
    A processor computes a block's products in nests of loops. Meanwhile it fetches the rows that
    the next block reads and writes. The op that a nest computes (a product, a map, a mask or an
    update) has the nest as `tile.nest`. A load or store names in `tile.prefetched_by` the nest that
    fetches its window of the next iteration of the loop around it. If the nest stands in a loop of
    its own, up to so many `iterations` of that loop share the rows. Results are the same with and
    without. `--tile-prefetch` writes these attributes.

    ```mlir
    #tile.nest<0>
    #tile.nest<1 in 4 iterations>
    ```
  }];
  let parameters = (ins "int64_t":$number, DefaultValuedParameter<"int64_t", "1">:$iterations);
  let assemblyFormat = "`<` $number (`in` $iterations^ `iterations`)? `>`";
  let genVerifyDecl = 1;
}
class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, !listconcat([KnownAttributes], traits)>;

#endif // TILE_BASE
