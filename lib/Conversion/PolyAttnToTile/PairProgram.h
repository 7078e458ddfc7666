//===- PairProgram.h - pairs of an attend that go by scores -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PAIRPROGRAM_H
#define POLYATTN_CONVERSION_PAIRPROGRAM_H

#include "Accumulators.h"
#include "Gates.h"
#include "ProgramContext.h"
#include <limits>

namespace polyattn {

/// Blocks of keys in [from, to), the nearest one first, or all keys.
struct KeyBlocks {
  mlir::Value from, to;       // index
  bool local = false;         // with scores of local vectors
  bool crossesWindow = false; // some of their pairs may be outside of the window
  KeySource source = KeySource::Call;
};

/// Less than all scores of a softmax, before a row has met one.
inline constexpr double kLeastScore = std::numeric_limits<float>::lowest();

/// The pairs of an attend that are seen through scores: those inside of a block, with blocks of its
/// run or segment, or with all keys.
class PairProgram {
public:
  /// `usesState` says that other pairs go through a state.
  PairProgram(AttendOp op, bool usesState, const ProgramContext &context)
      : op(op), usesState(usesState), context(context), gates(op, context) {}

  bool isLocal() const { return bool(op.getLocalQuery()); }
  /// The state is that before the block's segment, whose pairs go by scores.
  bool readsSegmentStart() const { return context.chunk && usesState; }
  /// Adds the pairs of a block, and those with blocks before it. `diagonal` are the scores inside
  /// of the block, if they are there already.
  void addNear(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys,
               mlir::Value values, mlir::Value diagonal, const BlockSpan &span,
               const BlockDecay &decay, Accumulators &accumulators);
  /// Pairs with blocks of keys, of which `between` adds up the decays.
  void addBlocks(TileBuilder &builder, VectorProgram &queries, const KeyBlocks &blocks,
                 const BlockDecay &decay, mlir::Value &between, Accumulators &accumulators);
  /// Pairs with all keys, or with those of the window, under a mask without an order.
  void addAll(TileBuilder &builder, VectorProgram &queries, const BlockSpan &span,
              Accumulators &accumulators);
  /// Prepares scores inside of a block, for what comes before they are computed.
  void prepare(VectorProgram &queries);

private:
  struct Diagonals;
  /// A block of queries, a block of keys, and which of their pairs the attend leaves out.
  struct BlockPair {
    VectorProgram &queries, &keys;
    bool local;
    tile::Triangle triangle = tile::Triangle::None; // of a block with itself
    bool crossesWindow = false;
    mlir::Value bound = {}; // index: how many keys there are; null where there are all
  };
  bool isSoftmax() const { return op.getNormalizer().isSoftmax(); }
  mlir::Value lagScores(TileBuilder &builder, RelativeOp relative, const VectorProgram &queries,
                        const VectorProgram &keys);
  void addByLag(TileBuilder &builder, mlir::Value scores, const BlockPair &blockPair);
  /// The window of the attend, or that of its local scores; none without.
  std::optional<int64_t> windowLength();
  mlir::Value inWindow(TileBuilder &builder, mlir::Value scores, const BlockPair &blockPair,
                       double otherwise, mlir::Value others = {});
  /// Whether some pairs of blocks have local scores, and others not.
  bool hasBothScores(bool crossesWindow);
  mlir::Value masked(TileBuilder &builder, mlir::Value weights, const BlockPair &blockPair);
  mlir::Value scores(TileBuilder &builder, const BlockPair &blockPair);
  mlir::Value weights(TileBuilder &builder, const BlockPair &blockPair, mlir::Value scores,
                      const PairDecay &decay);
  void add(TileBuilder &builder, Accumulators &accumulators, const BlockPair &blockPair,
           mlir::Value weights, mlir::Value values);
  mlir::Value largestOf(TileBuilder &builder, mlir::Value before, mlir::Value scores,
                        const BlockPair &blockPair, double least);
  void addSoftmax(TileBuilder &builder, Accumulators &accumulators, const BlockPair &blockPair,
                  mlir::Value scores, mlir::Value values);
  void addPairs(TileBuilder &builder, Accumulators &accumulators, const BlockPair &blockPair,
                mlir::Value scores, mlir::Value values, const PairDecay &decay);
  void addDiagonalWithProducts(TileBuilder &builder, Accumulators &accumulators,
                               const BlockPair &blockPair, mlir::Value weights, mlir::Value values);
  void addRing(TileBuilder &builder, VectorProgram &queries, const BlockSpan &span,
               Accumulators &accumulators);
  void addKeysBefore(TileBuilder &builder, VectorProgram &queries, const BlockSpan &span,
                     const BlockDecay &decay, mlir::Value &between, Accumulators &accumulators);

  mutable AttendOp op; // its accessors are not const
  bool usesState;
  const ProgramContext &context;
  Gates gates;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PAIRPROGRAM_H
