//===- StateProgram.cpp - one state inside a tile kernel ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateProgram.h"
#include "dialects/PolyAttn/StateTerms.h"

using namespace mlir;
using namespace polyattn;

StateProgram::StateProgram(StateUpdateInterface op, int64_t featureBlock,
                           const ProgramContext &context)
    : op(op), context(context), update(StateUpdate::of(op, context)),
      keys(op, /*isPooled=*/bool(context.frame.sequence.slot)) {
  BlockState::Shape shape = shapeOf(op, featureBlock);
  shape.direction = context.direction();
  shape.weights = keys.missing();
  sums = BlockState(std::move(shape), context.share);
  isAskedFor = llvm::any_of(readersOf(op), [](AttendOp attend) {
    return attend.getFinalState() || attend.keepsStates();
  });
}

BlockState::Shape StateProgram::shapeOf(StateUpdateInterface op, int64_t featureBlock) {
  BlockState::Shape shape;
  auto type = cast<StateType>(op.getSums().getType());
  shape.range = {type.getFeatures(), featureBlock};
  shape.hasNormalizer = type.getNormalizer() || op.getLastApart();
  shape.width = type.getWidth() - op.getLastApart();
  return shape;
}

//===----------------------------------------------------------------------===//
// Before the loops
//===----------------------------------------------------------------------===//

void StateProgram::begin(TileBuilder &b) {
  sums.makeBuffers(b);
  if (Value isFirst = context.share->isFirstLaunch(b))
    b.branch(isFirst, [&] { fill(b); });
  else if (op.getInitialState() && context.frame.sequence.isContinued)
    b.branch(context.frame.sequence.isContinued, [&] { fill(b); });
  else if (op.getInitialState())
    fill(b);
  else if (context.segment)
    b.branch(context.segment->isEntered(b, context.direction()), [&] { fill(b); });
  // Every query sees every key: the whole state first.
  if (!context.isOrdered())
    Sweep{b.index(0), context.frame.sequence.keys, context.block}.forBlocks(
        b, [&](const BlockSpan &span) { add(b, span, span.valid); });
}

void StateProgram::beginFrom(TileBuilder &b, const StoredState &state) {
  sums.makeBuffers(b);
  sums.fill(b, &state, /*behind=*/nullptr);
}

/// The initial state, or zeros, and the segments that the sweep has behind it.
void StateProgram::fill(TileBuilder &b) {
  StoredState given;
  if (op.getInitialState())
    given = tensors().initial();
  std::optional<SegmentsBehind> behind;
  if (context.segment)
    behind.emplace(SegmentsBehind{*segmentStates, context.segment->statesBehind});
  auto fillFrom = [&](bool isGiven) {
    sums.fill(b, isGiven ? &given : nullptr, behind ? &*behind : nullptr);
  };
  if (!op.getInitialState() || !op.isSumOfHeads())
    return fillFrom(bool(op.getInitialState()));
  b.branch(
      context.frame.heads.isFirstOfGroup(b), [&] { fillFrom(/*isGiven=*/true); },
      [&] { fillFrom(/*isGiven=*/false); });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool StateProgram::updatesAfterRun() const {
  return context.isOrdered() && op.getBlock() && !slides() && context.runsAreLong();
}

Value StateProgram::isFilled(TileBuilder &b, const BlockSpan &span) const {
  if (!context.skipsIdleState || !context.isOrdered() || op.getInitialState())
    return {};
  if (context.chunk)
    return context.chunk->isEntered(b, context.direction());
  if (!context.isForwards()) {
    Value end = updatesAfterRun() ? span.end : b.addIndex(span.position, span.valid);
    if (slides())
      end = b.addIndex(end, b.index(reach()));
    return b.compare(arith::CmpIPredicate::slt, end, context.frame.sequence.keys);
  }
  Value position = updatesAfterRun() ? span.start : span.position;
  return b.compare(arith::CmpIPredicate::sgt, context.share->rowOfCall(b, position),
                   b.index(reach()));
}

Value StateProgram::isReadAfter(TileBuilder &b, Value first, Value end) const {
  // After the last block, finishCall adds the keys that the state of the next call needs.
  bool isUnknown = !context.skipsIdleState || isAskedFor;
  if (!context.isOrdered() || (isUnknown && !slidesOverCalls()))
    return {};
  Sweep own = context.sweep(b);
  Value isRead = context.isForwards() ? b.compare(arith::CmpIPredicate::slt, end, own.end)
                                      : b.compare(arith::CmpIPredicate::sgt, first, own.begin);
  Value goesOn = context.share->goesOn(b);
  return goesOn ? arith::OrIOp::create(b, isRead, goesOn) : isRead;
}

Value StateProgram::positionsToAdd(TileBuilder &b, const BlockSpan &span) const {
  // The last block of a run may be shorter, and another run comes after it.
  Value length = context.run % context.block ? span.valid : b.index(context.block);
  Value isRead = isReadAfter(b, span.position, b.addIndex(span.position, length));
  return isRead ? b.select(isRead, span.valid, b.index(0)) : span.valid;
}

StateColumns StateProgram::columnsOf(VectorProgram &vectors) const {
  if (!op.getLastApart())
    return {vectors.rowMajor(op.getValue()), Value()};
  // The last element alone, or what is stacked on it.
  auto concat = op.getValue().getDefiningOp<ConcatOp>();
  Value last = concat ? concat.getInputs().back() : Value(op.getValue());
  StateColumns columns;
  if (concat)
    columns.rows = vectors.rowMajor(concat.getInputs().front());
  auto constant = last.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isExactlyValue(1.0))
    columns.normalizer = vectors.full(last);
  return columns;
}

/// The block of keys that no window has from the block of rows after `span` on, and how many of
/// them there are: none where the window reaches over the sequence's end, and another block stands
/// for this one.
std::pair<BlockSpan, Value> StateProgram::leavingWindow(TileBuilder &b, const BlockSpan &span,
                                                        Value valid) const {
  Value length = b.index(reach()), keys = context.frame.sequence.keys, position, isThere;
  if (context.isForwards()) {
    isThere = b.compare(arith::CmpIPredicate::sge, span.position, length);
    position = b.subIndex(span.position, b.minIndex(span.position, length));
  } else {
    Value behind = b.addIndex(span.position, length);
    isThere = b.compare(arith::CmpIPredicate::slt, behind, keys);
    position = b.select(isThere, behind, span.position);
  }
  BlockSpan leaving = span;
  leaving.position = position;
  leaving.valid = b.minIndex(b.subIndex(keys, position), b.index(context.block));
  Value isAdded = b.compare(arith::CmpIPredicate::ne, valid, b.index(0));
  Value count = b.select(arith::AndIOp::create(b, isThere, isAdded), leaving.valid, b.index(0));
  return {leaving, count};
}

/// Adds positions [begin, end) of the sequence, which a ring has.
void StateProgram::addRing(TileBuilder &b, Value begin, Value end) {
  context.ring(begin, end).forBlocks(b, [&](const BlockSpan &span) {
    addKeys(b, span, span.valid, KeySource::Ring);
  });
}

Value StateProgram::add(TileBuilder &b, const BlockSpan &given, Value valid, KeySource source) {
  if (!slides())
    return addKeys(b, given, valid, source);
  if (slidesOverCalls()) {
    Value isLast = b.isEqual(given.position, b.index(context.lastBlockOfRing(window())));
    Value isAdded = b.compare(arith::CmpIPredicate::ne, valid, b.index(0));
    Value calls = context.frame.sequence.before;
    Value isDue = arith::AndIOp::create(b, isLast, isAdded);
    addRing(b, b.select(isDue, context.firstBefore(b, window()), calls), calls);
  }
  auto [span, count] = leavingWindow(b, given, valid);
  return addKeys(b, span, count, source);
}

void StateProgram::finishCall(TileBuilder &b) {
  if (!slidesOverCalls())
    return;
  Value zero = b.index(0), one = b.index(1), length = b.index(context.block);
  Value calls = context.frame.sequence.before, keys = context.frame.sequence.keys;
  auto behindWindow = [&](Value end) -> Value {
    return arith::MaxSIOp::create(b, b.subIndex(end, b.index(window())), zero);
  };
  Value last = arith::MaxSIOp::create(b, b.subIndex(keys, one), zero);
  last = b.mulIndex(b.divIndex(last, length), length);
  Value hasRing =
      b.compare(arith::CmpIPredicate::sgt, last, b.index(context.lastBlockOfRing(window())));
  Value ringEnd = b.minIndex(calls, behindWindow(b.addIndex(calls, keys)));
  addRing(b, b.select(hasRing, calls, context.firstBefore(b, window())), ringEnd);
  Value begin = b.select(hasRing, b.subIndex(last, b.index(reach())), zero);
  Sweep{begin, behindWindow(keys), context.block}.forBlocks(
      b, [&](const BlockSpan &span) { addKeys(b, span, span.valid, KeySource::Call); });
}

Value StateProgram::addKeys(TileBuilder &b, const BlockSpan &span, Value valid, KeySource source) {
  VectorProgram vectors = context.keyVectors(b, span.position, span.valid, source);
  StateColumns columns = columnsOf(vectors);
  KeyBlock block{span.position, span.valid, source};
  BlockDecay decay = update->decayIn(b, block);
  FeatureBlocks blocks = keys.blocks();
  blocks.prepare(b, vectors);
  sums.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    update->add(b, sums, first, blocks.block(b, vectors, first, count), columns, block, valid,
                decay);
    return TileBuilder::Values();
  });
  return decay ? decay.total(b) : Value();
}
