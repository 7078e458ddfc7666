//===- AttendSegments.cpp - an attention whose positions are cut ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"

using namespace mlir;
using namespace polyattn;

void AttendProgram::beginSums(TileBuilder &b) { makeBuffers(b); }

bool AttendProgram::hasDecayByPosition() const {
  if (!op.hasDecay() || op.getDecayFactors())
    return false;
  return cast<RankedTensorType>(op.getDecay().getType()).getRank() != 1;
}

/// S <- exp(decay of the segment) S + its sums, and z likewise, for every segment before this
/// one. The segments are the inner loop: what is gathered stays in registers.
void AttendProgram::addSegmentsBefore(TileBuilder &b, Value first, Value &rows, Value &column) {
  int64_t count = b.typeOf(rows).getRows();
  SmallVector<Value> carried = {rows};
  if (normalizer)
    carried.push_back(column);
  auto loop = scf::ForOp::create(
      b, b.index(0), context.segment->sumsBefore, b.index(1), carried,
      [&](OpBuilder &builder, Location loc, Value segment, ValueRange in) {
        TileBuilder b(loc, builder);
        const SegmentSums &sums = *segmentSums;
        Value factor;
        if (sums.decays)
          factor = expOf(b, tile::LoadOp::create(b, b.tileType(1, 1), sums.decays,
                                                 ValueRange{segment, context.batch, sums.head},
                                                 Value(), -1, -1, /*transposed=*/false));
        auto add = [&](Value gathered, Value sum) {
          if (!factor)
            return b.add(gathered, sum);
          return b.map({gathered, factor, sum}, [](ElementBuilder &e, ValueRange in) -> Value {
            return e.add(e.mul(in[0], in[1]), in[2]);
          });
        };
        SmallVector<Value> out;
        out.push_back(add(
            in[0], tile::LoadOp::create(
                       b, b.tileType(count, valueWidth), sums.states,
                       ValueRange{segment, context.batch, sums.head, first, b.index(0)}, Value(),
                       /*row_dim=*/3, /*col_dim=*/4, /*transposed=*/false)));
        if (normalizer)
          out.push_back(
              add(in[1], tile::LoadOp::create(b, b.tileType(count, 1), sums.normalizers,
                                              ValueRange{segment, context.batch, sums.head, first},
                                              Value(), /*row_dim=*/3, /*col_dim=*/-1,
                                              /*transposed=*/false)));
        scf::YieldOp::create(builder, loc, out);
      });
  rows = loop.getResult(0);
  if (normalizer)
    column = loop.getResult(1);
}

void AttendProgram::storeSums(TileBuilder &b, Value decay) {
  const SegmentSums &sums = *segmentSums;
  Value segment = context.segment->segment;
  if (sums.decays && !decay)
    decay = this->decay(b, context.segment->begin,
                        arith::SubIOp::create(b, context.segment->end, context.segment->begin))
                .total(b);
  if (sums.decays)
    inFirstOfCluster(b, context, [&](TileBuilder &b) {
      tile::StoreOp::create(b, decay, sums.decays, ValueRange{segment, context.batch, sums.head},
                            Value(), -1, -1);
    });
  SmallVector<Value> none;
  forFeatureBlocks(
      b, {},
      [&](TileBuilder &b, Value first, int64_t count, ValueRange) {
        Value row = rowOf(b, first);
        Value rows = tile::ReadOp::create(b, b.tileType(count, valueWidth), state, row);
        tile::StoreOp::create(b, rows, sums.states,
                              ValueRange{segment, context.batch, sums.head, first, b.index(0)},
                              Value(), /*row_dim=*/3, /*col_dim=*/4);
        if (normalizer) {
          Value column = tile::ReadOp::create(b, b.tileType(count, 1), normalizer, row);
          tile::StoreOp::create(b, column, sums.normalizers,
                                ValueRange{segment, context.batch, sums.head, first}, Value(),
                                /*row_dim=*/3, /*col_dim=*/-1);
        }
        return SmallVector<Value>();
      },
      none);
}
