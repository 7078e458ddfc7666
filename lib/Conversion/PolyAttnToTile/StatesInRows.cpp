//===- StatesInRows.cpp - states after blocks, in rows of a tensor --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward kernel leaves the state after each of its blocks in that block's rows of a tensor
// (BlockStates.h), and a backward one reads it there, transposed, in the block after it: what a
// sweep would have to come to from the other end.
//
//===----------------------------------------------------------------------===//

#include "StatesInRows.h"
#include "FeatureBlocks.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// `rows`, or none of them in the call's first block, which no state is before.
static Value filledRows(TileBuilder &b, const BlockSpan &span, int64_t rows) {
  Value hasBefore = b.compare(arith::CmpIPredicate::sgt, span.position, b.index(0));
  return b.select(hasBefore, b.index(rows), b.index(0));
}

/// The normalizer after the block that begins at `first`, [1 x D].
Value StatesInRows::loadNormalizer(TileBuilder &b, const BlockSpan &span, Value first) const {
  BlockStates layout = op.getStatesLayout();
  int64_t length = layout.length;
  auto type = tile::BufferType::get(b.getContext(), layout.normalizerPieces() * length, 1);
  Value column = tile::BufferOp::create(b, type, /*persistent=*/false);
  for (int64_t piece = 0; piece < layout.normalizerPieces(); ++piece) {
    SmallVector<Value> at = {context.frame.sequence.batch, context.frame.sequence.rowOf(b, first),
                             gates.head(), b.index(layout.normalizerColumn(piece))};
    Value rows =
        tile::LoadOp::create(b, b.tileType(length, 1), context.frame.input(op.getBlockStates()), at,
                             filledRows(b, span, length), /*row_dim=*/1, /*col_dim=*/-1,
                             /*transposed=*/false);
    tile::WriteOp::create(b, rows, column, b.index(piece * length));
  }
  Value all = tile::ReadOp::create(b, b.tileType(layout.features, 1), column, b.index(0));
  return b.transpose(all);
}

/// The queries times the state before the block. Features of keys were elements of values there,
/// and the last one may have been the 1 of a normalizer.
Value StatesInRows::read(TileBuilder &b, VectorProgram &queries, const FeaturePlan &plan,
                         const std::vector<double> &weights, const BlockSpan &span) const {
  BlockStates layout = op.getStatesLayout();
  FeatureBlocks blocks(plan, weights);
  blocks.prepare(b, queries);
  // Nothing is read in the first block, wherever that would be.
  Value before = b.subIndex(span.position, filledRows(b, span, layout.length));
  Value numerator = b.constant(context.block, op.getValue().getType().getWidth(), 0);
  auto add = [&](int64_t first, int64_t count, Value states, Value terms) {
    numerator = b.dot(blocks.block(b, queries, b.index(first), count), states, numerator,
                      /*lhsTransposed=*/true, tile::Triangle::None, tile::Triangle::None, terms);
  };
  for (int64_t piece = 0; piece < layout.valuePieces(); ++piece) {
    int64_t rows = layout.valueRows(piece);
    Value filled = filledRows(b, span, rows);
    SmallVector<Value> at = {context.frame.sequence.batch, context.frame.sequence.rowOf(b, before),
                             gates.head(), b.index(layout.valueColumn(piece))};
    Value states = tile::LoadOp::create(b, b.tileType(rows, layout.features),
                                        context.frame.input(op.getBlockStates()), at, filled,
                                        /*row_dim=*/1, /*col_dim=*/3, /*transposed=*/false);
    add(piece * layout.length, rows, states, filled);
  }
  if (layout.hasNormalizer)
    add(layout.values, 1, loadNormalizer(b, span, before), Value());
  return numerator;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Stores the first rows of a block, and zeros in the others, of those that the call has.
void StatesInRows::storePiece(TileBuilder &b, Value tile, Value column,
                              const BlockSpan &span) const {
  int64_t rows = b.typeOf(tile).getRows(), columns = b.typeOf(tile).getColumns();
  int64_t rest = op.getStatesLayout().length - rows;
  Value given = b.minIndex(span.valid, b.index(rows));
  auto store = [&](Value part, Value position, Value valid) {
    SmallVector<Value> at = {context.frame.sequence.batch,
                             context.frame.sequence.rowOf(b, position), gates.head(), column};
    for (auto [i, result] : llvm::enumerate(returnedBy(op->getParentOfType<AttentionOp>())))
      if (yieldedValue(result) == op.getKeptStates())
        tile::StoreOp::create(b, part, context.frame.result(i), at, valid, /*row_dim=*/1,
                              /*col_dim=*/3);
  };
  auto storeAll = [&] {
    store(tile, span.position, given);
    if (rest)
      store(b.constant(rest, columns, 0), b.addIndex(span.position, given),
            b.subIndex(span.valid, given));
  };
  // Query heads of one group hold the same state: the first of them writes it.
  if (op.getGateHeads() == GateHeads::Q || context.frame.heads.query() == context.frame.heads.key())
    return storeAll();
  b.branch(context.frame.heads.isFirstOfGroup(b), storeAll);
}

/// Stores the state of features [first, first + count) after the block.
void StatesInRows::store(TileBuilder &b, const BlockState &sums, Value first, int64_t count,
                         const BlockSpan &span) const {
  BlockStates layout = op.getStatesLayout();
  Value transposed = b.transpose(sums.weightedRows(b, first, count));
  for (int64_t piece = 0; piece < layout.valuePieces(); ++piece)
    storePiece(b, b.slice(transposed, b.index(piece * layout.length), layout.valueRows(piece)),
               b.addIndex(first, b.index(layout.valueColumn(piece))), span);
}

/// Stores the normalizer after the block.
void StatesInRows::storeNormalizer(TileBuilder &b, const BlockState &sums,
                                   const BlockSpan &span) const {
  BlockStates layout = op.getStatesLayout();
  for (int64_t piece = 0; piece < layout.normalizerPieces(); ++piece)
    storePiece(
        b, sums.weightedNormalizer(b, b.index(piece * layout.length), layout.normalizerRows(piece)),
        b.index(layout.normalizerColumn(piece)), span);
}
