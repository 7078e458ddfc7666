//===- TileOps.cpp - verification of the ops of tile kernels --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Extents.h"
#include "dialects/Tile/Inputs.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace polyattn::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyAccess(Operation *op, MemRefType memref, size_t numIndices,
                                  int64_t rowDim, int64_t colDim, TileType tile) {
  int64_t rank = memref.getRank();
  if (int64_t(numIndices) != rank)
    return op->emitOpError("expected ") << rank << " indices, got " << numIndices;
  if (rowDim < -1 || rowDim >= rank || colDim < -1 || colDim >= rank ||
      (rowDim == colDim && rowDim != -1))
    return op->emitOpError("row_dim and col_dim must be two dimensions of the tensor, or -1");
  if ((rowDim == -1 && tile.getRows() != 1) || (colDim == -1 && tile.getColumns() != 1))
    return op->emitOpError("a tile of several rows or columns needs a dimension for them");
  return success();
}

LogicalResult LoadOp::verify() {
  TileType tile = getResult().getType();
  if (getTransposed())
    tile = TileType::get(getContext(), tile.getColumns(), tile.getRows(), tile.getElementType());
  return verifyAccess(*this, cast<MemRefType>(getMemref().getType()), getIndices().size(),
                      getRowDim(), getColDim(), tile);
}

void LoadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (!isInput(getMemref()))
    effects.emplace_back(MemoryEffects::Read::get(), &getMemrefMutable());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, cast<MemRefType>(getMemref().getType()), getIndices().size(),
                      getRowDim(), getColDim(), getTile().getType());
}

static LogicalResult verifyRows(Operation *op, TileType tile, BufferType buffer) {
  if (!tile.getElementType().isF32())
    return op->emitOpError("rows of a buffer are f32, not ") << tile.getElementType();
  if (tile.getColumns() != buffer.getColumns() || tile.getRows() > buffer.getRows())
    return op->emitOpError("rows ") << tile << " do not fit " << buffer;
  return success();
}

LogicalResult ReadOp::verify() {
  return verifyRows(*this, getResult().getType(), getBuffer().getType());
}

LogicalResult WriteOp::verify() {
  return verifyRows(*this, getTile().getType(), getBuffer().getType());
}

/// The precision of a product whose sums are of type `sum`.
static LogicalResult verifyPrecision(Operation *op, std::optional<Precision> precision,
                                     TileType lhs, TileType rhs, Type sum) {
  Type left = lhs.getElementType(), right = rhs.getElementType();
  if (sum.getIntOrFloatBitWidth() < 32)
    return op->emitOpError("a sum of products is f32 or f64, not ") << sum;
  bool isSplit = precision == Precision::SplitTF32 || precision == Precision::SplitBF16;
  if (isSplit && !left.isF32() && !right.isF32() && !sum.isF64())
    return op->emitOpError("neither ")
           << left << " nor " << right << " leaves anything over to split";
  if (left.isF64() != sum.isF64() || right.isF64() != sum.isF64())
    return op->emitOpError("operands of ") << left << " and " << right << " have no sum in " << sum;
  if (precision && (*precision == Precision::F64) != sum.isF64())
    return op->emitOpError("operands of ") << left << " and " << right << " are not multiplied in "
                                           << stringifyPrecision(*precision);
  return success();
}

LogicalResult AccumulateOp::verify() {
  TileType lhs = getLhs().getType(), rhs = getRhs().getType();
  BufferType buffer = getBuffer().getType();
  if (lhs.getColumns() != rhs.getRows() || rhs.getColumns() != buffer.getColumns() ||
      lhs.getRows() > buffer.getRows())
    return emitOpError("shapes do not fit: ") << lhs << " times " << rhs << " into " << buffer;
  if (getFactor() &&
      (getFactor().getType().getRows() != 1 || getFactor().getType().getColumns() != 1))
    return emitOpError("the factor must be a 1x1 tile");
  return verifyPrecision(*this, getPrecision(), lhs, rhs, Float32Type::get(getContext()));
}

LogicalResult RecurOp::verify() {
  TileType query = getQuery().getType(), result = getResult().getType();
  auto memref = dyn_cast<MemRefType>(getMemref().getType());
  if (!memref || memref.getRank() < 2 || memref.getRank() != int64_t(getIndices().size()))
    return emitOpError("expected a tensor of two or more dimensions, and an index for each");
  if (bool(getKey()) != bool(getValue()))
    return emitOpError("a key and a value come together");
  if (getFactor() && !getKey())
    return emitOpError("rows that are read only have no factor");
  if (getBefore() && !getKey())
    return emitOpError("rows that are read only are the same before and after");
  if (query.getRows() != 1 || result.getRows() != 1)
    return emitOpError("expected one query and one sum, got ") << query << " and " << result;
  auto f32 = Float32Type::get(getContext());
  if (query.getElementType() != f32 || result.getElementType() != f32)
    return emitOpError("sums are f32, not of ") << query << " in " << result;
  auto wants = [&](Value tile, TileType type, StringRef name) -> LogicalResult {
    if (!tile || tile.getType() == type)
      return success();
    return emitOpError("the ") << name << " must be " << type << ", not " << tile.getType();
  };
  // One for each row, or one for all.
  TileType factor = TileType::f32(getContext(), 1, 1);
  if (getFactor() && getFactor().getType() == query)
    factor = query;
  return failure(failed(wants(getKey(), query, "key")) ||
                 failed(wants(getValue(), result, "value")) ||
                 failed(wants(getAcc(), result, "accumulator")) ||
                 failed(wants(getFactor(), factor, "factor")));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult ConstantColumnOp::verify() {
  if (getResult().getType().getColumns() != 1 ||
      getResult().getType().getRows() != int64_t(getValues().size()))
    return emitOpError("expected a column of ") << getValues().size() << " rows";
  return success();
}

LogicalResult IotaOp::verify() {
  if (getResult().getType().getRows() != 1)
    return emitOpError("expected a row vector");
  return success();
}

LogicalResult DotOp::verify() {
  TileType lhs = getLhs().getType(), rhs = getRhs().getType(), result = getResult().getType();
  int64_t m = getLhsTransposed() ? lhs.getColumns() : lhs.getRows();
  int64_t k = getLhsTransposed() ? lhs.getRows() : lhs.getColumns();
  if (k != rhs.getRows() || m != result.getRows() || rhs.getColumns() != result.getColumns())
    return emitOpError("shapes do not fit: ") << lhs << " times " << rhs << " gives " << result;
  if (getAcc() && getAcc().getType() != result)
    return emitOpError("accumulator and result differ");
  if ((getLower() && getUpper()) || (getLowerLhs() && getUpperLhs()))
    return emitOpError("a triangle is lower or upper, not both");
  if (getTriangle() != Triangle::None && m != result.getColumns())
    return emitOpError("a triangle needs a square tile, not ") << result;
  if (getLhsTriangle() != Triangle::None && m != k)
    return emitOpError("a triangle needs a square tile, not ") << lhs;
  return verifyPrecision(*this, getPrecision(), lhs, rhs, result.getElementType());
}

LogicalResult MapOp::verify() {
  TileType result = getResult().getType();
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("expected one region argument for each operand");
  for (auto [input, argument] : llvm::zip(getInputs(), block.getArguments())) {
    auto tile = cast<TileType>(input.getType());
    bool rowsFit = tile.getRows() == 1 || tile.getRows() == result.getRows();
    bool columnsFit = tile.getColumns() == 1 || tile.getColumns() == result.getColumns();
    if (!rowsFit || !columnsFit)
      return emitOpError("operand ") << tile << " cannot be repeated to " << result;
    if (argument.getType() != tile.getElementType())
      return emitOpError("region arguments must have the operands' element types");
  }
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValue().getType() != result.getElementType())
    return emitOpError("the region must yield one ") << result.getElementType();
  return success();
}

/// What moves elements leaves them what they are.
static LogicalResult verifySameElements(Operation *op, TileType source, TileType result) {
  if (source.getElementType() != result.getElementType())
    return op->emitOpError("makes ")
           << result.getElementType() << " of " << source.getElementType();
  if (source.getLayout() != result.getLayout())
    return op->emitOpError("makes ") << result << " of " << source << ", in another layout";
  return success();
}

LogicalResult ReduceOp::verify() {
  TileType input = getInput().getType(), result = getResult().getType();
  Type element = input.getElementType();
  Type sum = element.isF64() ? element : Float32Type::get(getContext());
  if (result.getElementType() != sum)
    return emitOpError("elements of ")
           << element << " are combined in " << sum << ", not " << result.getElementType();
  if (getLower() && getUpper())
    return emitOpError("a triangle is lower or upper, not both");
  bool rows = getAxis() == Axis::Rows;
  if (result.getRows() != (rows ? 1 : input.getRows()) ||
      result.getColumns() != (rows ? input.getColumns() : 1))
    return emitOpError("a reduction over ")
           << stringifyAxis(getAxis()) << " of " << input << " is not " << result;
  return success();
}

/// A table of D x p rows of `source`, and a weight for each row of the table where there are any:
/// of monomials of which `monomials` has some.
template <typename Op> static LogicalResult verifyMonomials(Op op, TileType monomials) {
  auto type = cast<ShapedType>(op.getTable().getType());
  TileType source = op.getSource().getType();
  if (type.getRank() != 2 || type.getDimSize(0) < monomials.getRows())
    return op.emitOpError("expected a table of D x p row indices");
  if (source.getColumns() != monomials.getColumns())
    return op.emitOpError("source and ")
           << (std::is_same_v<Op, MonomialsOp> ? "result" : "gradient")
           << " have different numbers of columns";
  for (const APInt &row : op.getTable().template getValues<APInt>())
    if (row.getSExtValue() < 0 || row.getSExtValue() >= source.getRows())
      return op.emitOpError("the table names row ") << row.getSExtValue() << " of " << source;
  if (op.getWeights() && int64_t(op.getWeights()->size()) != type.getDimSize(0))
    return op.emitOpError("expected one weight for each row of the table");
  return success();
}

LogicalResult MonomialsOp::verify() {
  if (failed(verifyMonomials(*this, getResult().getType())))
    return failure();
  return verifySameElements(*this, getSource().getType(), getResult().getType());
}

LogicalResult ContractOp::verify() {
  auto table = cast<ShapedType>(getTable().getType());
  if (table.getRank() != 2 || table.getDimSize(1) != 2)
    return emitOpError("expected a table of pairs of rows");
  if (failed(verifyMonomials(*this, getGradient().getType())))
    return failure();
  return verifySameElements(*this, getGradient().getType(), getResult().getType());
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool isWhole =
      getSource().getType() == getType() && isZeroInteger(getRow()) && isZeroInteger(getColumn());
  return isWhole ? getSource() : Value();
}

LogicalResult SliceOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  if (result.getColumns() > source.getColumns() || result.getRows() > source.getRows())
    return emitOpError("a window ") << result << " is larger than " << source;
  return verifySameElements(*this, source, result);
}

LogicalResult PackOp::verify() {
  TileType source = getSource().getType();
  if (!source.getElementType().isF32())
    return emitOpError("expected a tile of f32, not ") << source;
  if (getPacked().empty())
    return emitOpError("expected a result");
  for (auto [i, result] : llvm::enumerate(getPacked())) {
    auto type = cast<TileType>(result.getType());
    if (type != source.withElements(BFloat16Type::get(getContext()), type.getLayout()))
      return emitOpError("the result ") << type << " is not " << source << " in bf16";
    if (llvm::is_contained(getPacked().take_front(i).getTypes(), type))
      return emitOpError("two results are ") << type;
  }
  return success();
}

LogicalResult ConcatOp::verify() {
  int64_t rows = 0;
  for (Value input : getInputs()) {
    auto tile = cast<TileType>(input.getType());
    rows += tile.getRows();
    if (tile.getColumns() != getResult().getType().getColumns())
      return emitOpError("operands have different numbers of columns");
    if (failed(verifySameElements(*this, tile, getResult().getType())))
      return failure();
  }
  if (rows != getResult().getType().getRows())
    return emitOpError("operands have ") << rows << " rows in all";
  return success();
}

LogicalResult SelectRowsOp::verify() {
  for (int64_t row : getRows())
    if (row < 0 || row >= getSource().getType().getRows())
      return emitOpError("there is no row ") << row << " in " << getSource().getType();
  if (int64_t(getRows().size()) != getResult().getType().getRows())
    return emitOpError("expected ") << getRows().size() << " rows";
  if (getSource().getType().getColumns() != getResult().getType().getColumns())
    return emitOpError("source and result have different numbers of columns");
  return verifySameElements(*this, getSource().getType(), getResult().getType());
}

/// A tile and the column of its diagonals.
static LogicalResult verifyDiagonals(Operation *op, TileType tile, TileType column) {
  int64_t diagonals = tile.getRows() + tile.getColumns() - 1;
  if (column.getColumns() != 1 || column.getRows() != diagonals)
    return op->emitOpError("expected a column of ")
           << diagonals << " numbers, one for each diagonal of " << tile << ", got " << column;
  return verifySameElements(op, tile, column);
}

LogicalResult ToeplitzOp::verify() {
  return verifyDiagonals(*this, getResult().getType(), getDiagonals().getType());
}

LogicalResult DiagonalSumsOp::verify() {
  return verifyDiagonals(*this, getSource().getType(), getResult().getType());
}

LogicalResult TransposeOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  if (source.getRows() != result.getColumns() || source.getColumns() != result.getRows())
    return emitOpError("the transpose of ") << source << " is not " << result;
  return verifySameElements(*this, source, result);
}
