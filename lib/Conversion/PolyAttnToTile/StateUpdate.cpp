//===- StateUpdate.cpp - a recurrence, block by block ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateUpdate.h"
#include "FeatureGates.h"
#include "dialects/PolyAttn/OpDispatch.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// `state`: a number decays all rows, so that a pair's score is multiplied by a number.
class NumberUpdate : public StateUpdate {
public:
  NumberUpdate(StateOp op, const ProgramContext &context) : context(context), gates(op, context) {}

  BlockDecay decayIn(TileBuilder &b, const KeyBlock &block) const override {
    return gates.inBlock(b, block.position, block.valid, block.source);
  }
  void add(TileBuilder &b, BlockState &sums, Value first, Value features,
           const StateColumns &columns, const KeyBlock &, Value added,
           const BlockDecay &decay) const override {
    sums.update(b, features, columns.rows, columns.normalizer, first, added, decay);
  }
  bool hasTotalByPosition() const override { return gates.differByPosition(); }
  void storeTransition(TileBuilder &b, const BlockState &, const SegmentStates &segments,
                       Value total) const override {
    const SegmentContext &own = *context.segment;
    if (!total)
      total = gates.inBlock(b, own.begin, b.subIndex(own.end, own.begin)).total(b);
    context.share->inOneProgram(
        b, [&] { segments.storeDecay(b, total, own.segment, /*first=*/b.index(0)); });
  }
  Value factorOfToken(TileBuilder &b) const override { return gates.ofToken(b); }

private:
  const ProgramContext &context;
  Gates gates;
};

/// `channel_state`: each row decays by a number of its own, and a pair's score is a sum over
/// features of query, key and the numbers between.
class ChannelUpdate : public StateUpdate, public PairsOfFeatures {
public:
  ChannelUpdate(ChannelStateOp op, const ProgramContext &context)
      : context(context), gates(op, context) {}

  BlockDecay decayIn(TileBuilder &, const KeyBlock &) const override { return BlockDecay(); }
  void add(TileBuilder &b, BlockState &sums, Value first, Value features,
           const StateColumns &columns, const KeyBlock &block, Value added,
           const BlockDecay &) const override {
    DecayedFeatures decayed =
        decayFeatures(b, gates.inBlock(b, block, first, b.typeOf(features).getRows()), Value(),
                      features, block.valid, columns.rows, BlockSums());
    sums.addDecayed(b, decayed.keys, columns.rows, columns.normalizer, first, added,
                    decayed.factor);
  }
  const PairsOfFeatures *pairsOfFeatures() const override { return this; }
  BlockSums readAndAdd(TileBuilder &b, BlockState &sums, const RowsInBlock &rows,
                       const StateColumns &columns, const KeyBlock &block, Value filled,
                       Value added, const BlockSums &in) const override {
    int64_t count = b.typeOf(rows.keys).getRows();
    DecayedFeatures decayed = decayFeatures(b, gates.inBlock(b, block, rows.first, count),
                                            rows.queries, rows.keys, block.valid, columns.rows, in);
    Value row = sums.rowOf(b, rows.first);
    Value terms = filled ? b.select(filled, b.index(count), b.index(0)) : Value();
    auto times = [&](Value lhs, Value rhs, Value acc) {
      return b.dot(lhs, rhs, acc, /*lhsTransposed=*/true, tile::Triangle::None,
                   tile::Triangle::None, terms);
    };
    BlockSums out = decayed.sums;
    if (in.denominator)
      out.denominator = times(sums.readNormalizer(b, row, count), decayed.queries, out.denominator);
    out.numerator = times(decayed.queries, sums.readRows(b, row, count), out.numerator);
    if (added)
      sums.addDecayed(b, decayed.keys, columns.rows, columns.normalizer, rows.first, added,
                      decayed.factor);
    return out;
  }
  /// The programs of a head store their features.
  void storeTransition(TileBuilder &b, const BlockState &sums, const SegmentStates &segments,
                       Value) const override {
    sums.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
      Value total = gates.sum(b, context.sweep(b), first, count);
      segments.storeDecay(b, total, context.segment->segment, first);
      return TileBuilder::Values();
    });
  }
  Value factorOfToken(TileBuilder &b) const override { return gates.ofToken(b); }

private:
  const ProgramContext &context;
  FeatureGates gates;
};

/// One function for each op that gives a state.
struct MakeUpdate {
  const ProgramContext &context;

  std::unique_ptr<StateUpdate> operator()(StateOp op) const {
    return std::make_unique<NumberUpdate>(op, context);
  }
  std::unique_ptr<StateUpdate> operator()(ChannelStateOp op) const {
    return std::make_unique<ChannelUpdate>(op, context);
  }
};

} // namespace

std::unique_ptr<StateUpdate> StateUpdate::of(StateUpdateInterface op,
                                             const ProgramContext &context) {
  return dispatch<std::unique_ptr<StateUpdate>>(op, MakeUpdate{context});
}
