//===- CutFeatures.cpp - programs that share a head by its features -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace polyattn;

/// Whether a head's features can be cut, and what a part stores for each position.
void KernelBuilder::cutByFeatures() {
  maxSplits = INT64_MAX;
  partialColumns = 0;
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    int64_t features = AttentionShape::of(attend).features;
    bool canSplit = schedule.form != ScheduleForm::Quadratic && attend.getMask() == Mask::Causal;
    maxSplits = std::min(maxSplits, canSplit ? features / schedule.featureBlock : 1);
    partialColumns += cast<FeatureType>(attend.getValue().getType()).getWidth() +
                      (attend.getNormalizer().getKind() != NormalizerKind::None);
  }
}

/// What programs that share a head have between them: their sums, and the three numbers of a
/// launch: a program's part, the number of parts and the position of the first row.
SmallVector<HiddenArgument> KernelBuilder::partTensors(int64_t rank) {
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  return {{"partial", RankedTensorType::get(shape, b.getF32Type())},
          {"launch", RankedTensorType::get({3}, b.getI64Type())}};
}

void KernelBuilder::bindPart() {
  auto number = [&](int64_t i) -> Value {
    Value value = memref::LoadOp::create(b, launchTensor(), b.index(i));
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  };
  context->split = SplitContext{number(0), number(1), number(2)};
}

/// N of each attend and its Z beside it.
void KernelBuilder::storePartial(TileBuilder &b, MutableArrayRef<AttendProgram> programs,
                                 ArrayRef<AttendProgram::Sums> sums, const BlockPlace &place) {
  int64_t column = 0;
  auto store = [&](Value tile) {
    int64_t width = b.typeOf(tile).getColumns();
    tile::StoreOp::create(
        b, tile, partialTensor(),
        ValueRange{context->batch, place.position, context->head, b.index(column)}, place.valid,
        /*row_dim=*/1, /*col_dim=*/width == 1 ? -1 : 3);
    column += width;
  };
  for (auto [program, sum] : llvm::zip(programs, sums)) {
    store(sum.numerator);
    if (sum.denominator)
      store(sum.denominator);
  }
}

/// The kernel that adds the parts of a head, normalizes and writes the results. Its programs
/// take turns, block by block.
void KernelBuilder::combine() {
  beginKernel((attention.getSymName() + "__combine").str(), partTensors(/*rank=*/5));
  bindPart();
  std::vector<AttendProgram> programs = makePrograms(Variant::State);
  Value parts = memref::DimOp::create(b, partialTensor(), b.index(0));
  Value length = b.index(context->block);
  Value first = arith::MulIOp::create(b, context->split->split, length);
  Value stride = arith::MulIOp::create(b, context->split->splits, length);
  scf::ForOp::create(
      b, first, context->queries, stride, ValueRange(),
      [&](OpBuilder &builder, Location loc, Value position, ValueRange) {
        TileBuilder b(loc, builder);
        Value left = arith::SubIOp::create(b, context->queries, position);
        BlockPlace place{position, arith::MinSIOp::create(b, left, length), position};
        SmallVector<Value> carried;
        SmallVector<AttendProgram::Sums> sums;
        for (AttendProgram &program : programs) {
          carried.push_back(b.constant(context->block, program.getValueWidth(), 0));
          if (program.normalized())
            carried.push_back(b.constant(context->block, 1, 0));
        }
        auto loop = scf::ForOp::create(
            b, b.index(0), parts, b.index(1), carried,
            [&](OpBuilder &builder, Location loc, Value part, ValueRange in) {
              TileBuilder b(loc, builder);
              SmallVector<Value> out;
              int64_t column = 0;
              for (Value sum : in) {
                int64_t width = b.typeOf(sum).getColumns();
                Value tile = tile::LoadOp::create(
                    b, b.typeOf(sum), partialTensor(),
                    ValueRange{part, context->batch, position, context->head, b.index(column)},
                    place.valid, /*row_dim=*/2, /*col_dim=*/width == 1 ? -1 : 4,
                    /*transposed=*/false);
                out.push_back(b.add(sum, tile));
                column += width;
              }
              scf::YieldOp::create(builder, loc, out);
            });
        size_t next = 0;
        for (AttendProgram &program : programs) {
          AttendProgram::Sums &sum = sums.emplace_back();
          sum.numerator = loop.getResult(next++);
          if (program.normalized())
            sum.denominator = loop.getResult(next++);
        }
        VectorProgram queries = queryProgram(b, place);
        storeResults(b, programs, sums, queries, place);
        scf::YieldOp::create(builder, loc);
      });
}
