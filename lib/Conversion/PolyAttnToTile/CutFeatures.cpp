//===- CutFeatures.cpp - programs that share a head by its features -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "KernelProgram.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether a head's features can be cut, and what a part stores for each position.
void KernelBuilder::cutByFeatures() {
  maxSplits = tile::ChooseOp::kMostParts;
  partialColumns = 0;
  for (auto [attend, schedule] : llvm::zip(set.attends, set.schedules)) {
    int64_t features = AttentionShape::of(attend, schedule).features;
    // A long call is cut into launches that follow each other forwards.
    bool canSplit = schedule.form != ScheduleForm::Quadratic && set.mask == Mask::Causal;
    maxSplits = std::min(maxSplits, canSplit ? features / schedule.featureBlock : 1);
    partialColumns += cast<FeatureType>(attend.getValue().getType()).getWidth() +
                      attend.getNormalizer().hasDenominator();
  }
}

/// What programs that share a head have between them: the accumulators of all parts, and the four
/// numbers of a launch: a program's first part, the one behind its last, the position of the first
/// row, and how many rows come after the last.
SmallVector<HiddenArgument> KernelBuilder::partTensors() {
  SmallVector<int64_t> shape(5, ShapedType::kDynamic);
  return {{"partial", RankedTensorType::get(shape, b.getF32Type())},
          {"launch", RankedTensorType::get({4}, b.getI64Type())}};
}

/// The program's parts of a launch.
void KernelBuilder::bindPart() {
  auto number = [&](int64_t i) -> Value {
    Value value = memref::LoadOp::create(b, frame->workspace(1), b.index(i));
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  };
  Value first = number(0), behind = number(1), base = number(2), left = number(3);
  Value parts = memref::DimOp::create(b, frame->workspace(0), b.index(0));
  share = std::make_shared<LaunchedParts>(first, behind, parts, base, left);
}

/// The kernel that adds the parts of a head, normalizes and writes the results.
void KernelBuilder::combine() {
  beginKernel(name + "__combine", partTensors());
  bindPart();
  KernelProgram(set, ScheduleForm::State, context()).buildCombination(b);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// N of each attend and its Z beside it, of a part or of a query head.
void KernelProgram::storePart(TileBuilder &b, ArrayRef<Accumulators> accumulators,
                              const BlockSpan &span) {
  const KernelFrame &frame = context.frame;
  SmallVector<Value> indices = {frame.batch, frame.rowOf(b, span.position),
                                frame.headOf(/*queries=*/true)};
  if (Value part = context.share->part())
    indices.insert(indices.begin(), part);
  int64_t columnDim = indices.size(), column = 0;
  auto store = [&](Value tile) {
    int64_t width = b.typeOf(tile).getColumns();
    SmallVector<Value> at = indices;
    at.push_back(b.index(column));
    tile::StoreOp::create(b, tile, frame.workspace(0), at, span.valid, /*row_dim=*/columnDim - 2,
                          /*col_dim=*/width == 1 ? -1 : columnDim);
    column += width;
  };
  for (const Accumulators &sum : accumulators) {
    store(sum.numerator);
    if (sum.denominator)
      store(sum.denominator);
  }
}

/// The sums of what all parts have stored for a block.
SmallVector<Accumulators>
KernelProgram::addParts(TileBuilder &b, Value count, const BlockSpan &span,
                        function_ref<SmallVector<Value>(Value)> indicesOf) {
  SmallVector<Value> zeros;
  for (AttendProgram &program : programs) {
    zeros.push_back(b.constant(context.block, program.getValueWidth(), 0));
    if (program.normalized())
      zeros.push_back(b.constant(context.block, 1, 0));
  }
  auto totals = b.loop(b.index(0), count, b.index(1), zeros, [&](Value part, ValueRange in) {
    TileBuilder::Values out;
    SmallVector<Value> indices = indicesOf(part);
    int64_t columnDim = indices.size(), column = 0;
    for (Value sum : in) {
      int64_t width = b.typeOf(sum).getColumns();
      SmallVector<Value> at = indices;
      at.push_back(b.index(column));
      Value tile =
          tile::LoadOp::create(b, b.typeOf(sum), context.frame.workspace(0), at, span.valid,
                               /*row_dim=*/columnDim - 2, width == 1 ? -1 : columnDim,
                               /*transposed=*/false);
      out.push_back(b.add(sum, tile));
      column += width;
    }
    return out;
  });
  SmallVector<Accumulators> accumulators;
  size_t next = 0;
  for (AttendProgram &program : programs) {
    Accumulators &sum = accumulators.emplace_back();
    sum.numerator = totals[next++];
    if (program.normalized())
      sum.denominator = totals[next++];
  }
  return accumulators;
}

/// The programs take turns, block by block: to them the numbers of a launch are which of them it is
/// and how many there are.
void KernelProgram::buildCombination(TileBuilder &b) {
  const auto &own = static_cast<const LaunchedParts &>(*context.share);
  Value queries = context.frame.queries, length = b.index(context.block);
  Value first = b.mulIndex(own.first, length), stride = b.mulIndex(own.behind, length);
  b.loop(first, queries, stride, [&](Value position) {
    Value valid = b.minIndex(b.subIndex(queries, position), length);
    BlockSpan span{position, valid, position, queries};
    const KernelFrame &frame = context.frame;
    SmallVector<Accumulators> accumulators = addParts(b, own.parts, span, [&](Value part) {
      return SmallVector<Value>{part, frame.batch, frame.rowOf(b, span.position), frame.head};
    });
    VectorProgram vectors = context.queryVectors(b, span);
    storeResults(b, accumulators, vectors, span);
  });
}
