//===- VectorProgram.cpp - vectors of one side as tiles -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorProgram.h"
#include "ElementEmission.h"
#include "ProgramHeads.h"
#include "VectorEmission.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/Dependencies.h"
#include "dialects/PolyAttn/OpDispatch.h"

using namespace mlir;
using namespace polyattn;

static int64_t widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

/// Whether an operand is a row or a column while the function's result is a matrix: weights, and
/// numbers of each position.
static bool isTurnedForNothing(Value operand, Operation *function) {
  return isa<WeightType>(operand.getType()) || widthOf(operand) < widthOf(function->getResult(0));
}

/// Whether a tensor has a vector: one of the entry, or one that a kernel before this one wrote.
static bool isInMemory(Value vector) {
  return isa_and_present<ReadOp, KernelOp>(vector.getDefiningOp());
}

Value VectorProgram::weight(Value value) { return weights.get(*b, value, head); }

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Tables of positions have the rows of the whole sequence where calls begin anywhere in it, and
/// are not cut with a launch then.
Value VectorProgram::firstRow(bool isTable) {
  if (!isTable || !rowRange.indexTables)
    return rowRange.position;
  if (!rowRange.firstPosition)
    return rowRange.rowOfCall;
  Value first = arith::IndexCastOp::create(*b, b->getIndexType(), rowRange.firstPosition);
  return b->addIndex(first, rowRange.rowOfCall);
}

Value VectorProgram::load(Value vector, bool transposed) {
  auto read = vector.getDefiningOp<ReadOp>();
  Value tensor = weights.tensorOf(read ? read.getTensor() : vector);
  int64_t rank = cast<MemRefType>(tensor.getType()).getRank(), width = widthOf(vector);
  int64_t rowDim = rowRange.ofBatches ? 0 : rank - 3;
  Value zero = b->index(0);
  SmallVector<Value> indices;
  Value row = firstRow(/*isTable=*/rank == 3);
  Value head = this->head;
  if (read && hasSharedHeads(read.getTensor().getType()))
    head = b->divIndex(head, countSharing(*b, headTensor, tensor));
  if (read && rank == 4 && rowRange.cachedIn) {
    KeepOp keep = KeepOp::of(read.getTensor());
    tensor = weights.poolOf(keep);
    if (keep.isRing())
      row = arith::RemUIOp::create(*b, row, b->index(keep.getRows()));
    indices = {rowRange.cachedIn, head, row, zero};
    rowDim = 2;
  } else if (rank == 4) {
    indices = {batch, row, head, zero};
  } else {
    indices = {row, cast<MemRefType>(tensor.getType()).getDimSize(1) == 1 ? zero : head, zero};
  }
  auto type = transposed ? b->tileType(width, columns) : b->tileType(columns, width);
  assert((!rowRange.ofBatches || rank == 4) && "tables have no batches");
  return tile::LoadOp::create(*b, type, tensor, indices, rowRange.valid, rowDim,
                              /*col_dim=*/rank - 1, transposed);
}

//===----------------------------------------------------------------------===//
// Rows of vectors
//===----------------------------------------------------------------------===//

bool VectorProgram::isRowMajor(Value vector) {
  if (isInMemory(vector))
    return true;
  int64_t width = widthOf(vector);
  return !walkDependencies(vector, [&](Value value) {
    if (!isa<FeatureType>(value.getType()) || widthOf(value) != width)
      return WalkResult::interrupt();
    Operation *op = value.getDefiningOp();
    if (isa<ReadOp>(op))
      return WalkResult::skip();
    return isa<ElementwiseOpInterface>(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
}

bool VectorProgram::isCheap(Value vector) {
  if (isInMemory(vector))
    return true;
  auto [known, isNew] = cheap.try_emplace(vector, false);
  auto elements = vector.getDefiningOp<ElementwiseOpInterface>();
  if (!isNew || !elements || cast<FeatureOpInterface>(*elements).getCost().functions > 0)
    return known->second;
  bool result = llvm::all_of(elements->getOperands(), [&](Value operand) {
    return isTurnedForNothing(operand, elements) || isCheap(operand);
  });
  return cheap[vector] = result;
}

Value VectorProgram::full(Value vector) {
  if (Value known = memo.lookup(vector))
    return known;
  Value rows = rowMajorTiles.lookup(vector);
  Value result = rows && !isCheap(vector) ? b->transpose(rows) : compute(vector);
  return memo[vector] = result;
}

Value VectorProgram::rows(Value vector, Value first, int64_t count) {
  return count == widthOf(vector) ? full(vector) : b->slice(full(vector), first, count);
}

Value VectorProgram::compute(Value vector) {
  if (isInMemory(vector))
    return load(vector, /*transposed=*/true);
  return dispatch<Value>(cast<FeatureOpInterface>(vector.getDefiningOp()), [&](auto feature) {
    using Op = decltype(feature);
    if constexpr (isElementwiseOp<Op>)
      return elementwise(feature);
    else if constexpr (std::is_same_v<Op, ProjectOp>)
      return project(feature);
    else
      return emit(*this, feature);
  });
}

/// W^T X: the weight's columns are the result's rows. W X: its rows are.
Value VectorProgram::project(ProjectOp op) {
  Value w = weight(op.getWeight());
  Value result = b->dot(w, full(op.getInput()), Value(), /*lhsTransposed=*/!op.getTransposed());
  if (!op.getBias())
    return result;
  return b->map({result, weight(op.getBias())},
                [](ElementBuilder &e, ValueRange in) { return e.add(in[0], in[1]); });
}

Value VectorProgram::inColumns(Value operand) {
  return isa<WeightType>(operand.getType()) ? weight(operand) : full(operand);
}

Value VectorProgram::elementwise(ElementwiseOpInterface op) {
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(inColumns(operand));
  return b->map(inputs, [&](ElementBuilder &e, ValueRange in) { return emitElement(e, op, in); });
}

bool VectorProgram::hasRows(Value vector) {
  if (rowMajorTiles.contains(vector) || isCheap(vector))
    return true;
  if (memo.contains(vector))
    return false;
  auto [known, isNew] = withRows.try_emplace(vector, false);
  auto elements = vector.getDefiningOp<ElementwiseOpInterface>();
  if (!isNew || !elements)
    return known->second;
  bool result = llvm::all_of(elements->getOperands(), [&](Value operand) {
    return isTurnedForNothing(operand, elements) || hasRows(operand);
  });
  return withRows[vector] = result;
}

Value VectorProgram::rowMajor(Value vector) {
  if (Value known = rowMajorTiles.lookup(vector))
    return known;
  Value result = hasRows(vector) ? computeRows(vector) : b->transpose(full(vector));
  return rowMajorTiles[vector] = result;
}

Value VectorProgram::computeRows(Value vector) {
  if (isInMemory(vector))
    return load(vector, /*transposed=*/false);
  Operation *op = vector.getDefiningOp();
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(isTurnedForNothing(operand, op) ? b->transpose(inColumns(operand))
                                                     : rowMajor(operand));
  return b->map(inputs, [&](ElementBuilder &e, ValueRange in) {
    return emitElement(e, cast<ElementwiseOpInterface>(op), in);
  });
}

LhsTile VectorProgram::lhs(Value vector) {
  if (bound.contains(vector) || (!memo.contains(vector) && isRowMajor(vector)))
    return {rowMajor(vector), /*transposed=*/false};
  return {full(vector), /*transposed=*/true};
}
