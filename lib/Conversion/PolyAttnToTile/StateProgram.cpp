//===- StateProgram.cpp - one state inside a tile kernel ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateProgram.h"
#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/StateTerms.h"

using namespace mlir;
using namespace polyattn;

StateProgram::StateProgram(StateUpdateInterface op, int64_t featureBlock,
                           const ProgramContext &context)
    : op(op), context(context), update(StateUpdate::of(op, context)),
      keyPlan(planFeatures(op.getKey())), isBare(canBeBare()) {
  BlockState::Shape shape = shapeOf(op, featureBlock);
  shape.direction = context.direction();
  for (const Monomial &feature : keyPlan.monomials)
    (isBare ? shape.weights : keyWeights).push_back(feature.weight);
  if (llvm::all_of(shape.weights, [](double weight) { return weight == 1; }))
    shape.weights.clear();
  sums = BlockState(std::move(shape), context.share);
  isAskedFor = llvm::any_of(readersOf(op), [](AttendOp attend) {
    return attend.getFinalState() || attend.keepsStates();
  });
}

/// Whether the sums may lack the weights of keys, which readers multiply by instead: where states
/// live in arguments these hold them as they are read, so that what is left and found again has the
/// same bits. Weights can be divided by, and what queries multiply by is a number of f32; otherwise
/// each side has its own, whose product may come about where features and values have made up for
/// them.
bool StateProgram::canBeBare() const {
  auto isOne = [](const Monomial &feature) { return feature.weight == 1; };
  auto isZero = [](const Monomial &feature) { return feature.weight == 0; };
  bool isPlaced = op->getParentOfType<AttentionOp>().hasStatesInPlace();
  if (isPlaced || context.frame.slot || llvm::any_of(keyPlan.monomials, isZero))
    return false;
  if (llvm::all_of(keyPlan.monomials, isOne))
    return true;
  return llvm::all_of(readersOf(op), [&](AttendOp attend) {
    if (pairsOf(attend.getState())) // whose weights are small numbers
      return true;
    FeaturePlan queries = planFeatures(attend.getQuery());
    return llvm::all_of(termsOf(attend.getState()), [&](const StateTerm &term) {
      return term.state != op || llvm::all_of(llvm::seq<int64_t>(0, term.rows()), [&](int64_t i) {
               double ofKey = keyPlan.monomials[term.feature + (term.isTransposed ? 0 : i)].weight;
               return isRepresentable(attend.scoreScale() * queries.monomials[term.row + i].weight *
                                      (term.factor * ofKey));
             });
    });
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
  else if (op.getInitialState() && context.frame.isContinued)
    b.branch(context.frame.isContinued, [&] { fill(b); });
  else if (op.getInitialState())
    fill(b);
  else if (context.segment)
    b.branch(context.segment->isEntered(b, context.direction()), [&] { fill(b); });
  // Every query sees every key: the whole state first.
  if (!context.isOrdered())
    Sweep{b.index(0), context.frame.keys, context.block}.forBlocks(
        b, [&](const BlockSpan &span) { add(b, span, span.valid); });
}

/// The initial state and normalizer as the caller has them.
StoredState StateProgram::initialState() const {
  auto tensorsOf = [&](Value state) {
    SmallVector<Value> tensors;
    if (state)
      for (BlockArgument term : AddStatesOp::termsOf(state))
        tensors.push_back(context.frame.input(term));
    return tensors;
  };
  return StoredState::sumOf(tensorsOf(op.getInitialState()), tensorsOf(op.getInitialNormalizer()),
                            {context.frame.stateRow(), head()}, op.getInitialTransposed());
}

/// The initial state, or zeros, and the segments that the sweep has behind it.
void StateProgram::fill(TileBuilder &b) {
  StoredState given;
  if (op.getInitialState())
    given = initialState();
  std::optional<SegmentsBehind> behind;
  if (context.segment)
    behind.emplace(SegmentsBehind{*segmentStates, context.segment->statesBehind});
  auto fillFrom = [&](bool isGiven) {
    sums.fill(b, isGiven ? &given : nullptr, behind ? &*behind : nullptr);
  };
  if (!op.getInitialState() || !isSumOfHeads())
    return fillFrom(bool(op.getInitialState()));
  b.branch(
      isFirstOfGroup(b), [&] { fillFrom(/*isGiven=*/true); }, [&] { fillFrom(/*isGiven=*/false); });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool StateProgram::updatesAfterRun() const {
  return context.isOrdered() && op.getBlock() && context.runsAreLong();
}

Value StateProgram::isFilled(TileBuilder &b, const BlockSpan &span) const {
  if (!context.skipsIdleState || !context.isOrdered() || op.getInitialState())
    return {};
  if (context.chunk)
    return context.chunk->isEntered(b, context.direction());
  if (!context.isForwards()) {
    Value end = updatesAfterRun() ? span.end : b.addIndex(span.position, span.valid);
    return b.compare(arith::CmpIPredicate::slt, end, context.frame.keys);
  }
  Value position = updatesAfterRun() ? span.start : span.position;
  return b.compare(arith::CmpIPredicate::sgt, context.share->rowOfCall(b, position), b.index(0));
}

Value StateProgram::isReadAfter(TileBuilder &b, Value first, Value end) const {
  if (!context.skipsIdleState || !context.isOrdered() || isAskedFor)
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

StateColumns StateProgram::columnsOf(VectorProgram &keys) const {
  if (!op.getLastApart())
    return {keys.rowMajor(op.getValue()), Value()};
  // The last element alone, or what is stacked on it.
  auto concat = op.getValue().getDefiningOp<ConcatOp>();
  Value last = concat ? concat.getInputs().back() : Value(op.getValue());
  StateColumns columns;
  if (concat)
    columns.rows = keys.rowMajor(concat.getInputs().front());
  auto constant = last.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isExactlyValue(1.0))
    columns.normalizer = keys.full(last);
  return columns;
}

Value StateProgram::add(TileBuilder &b, const BlockSpan &span, Value valid, KeySource source) {
  VectorProgram keys = context.keyVectors(b, span.position, span.valid, source);
  StateColumns columns = columnsOf(keys);
  KeyBlock block{span.position, span.valid, source};
  BlockDecay decay = update->decayIn(b, block);
  FeatureBlocks blocks(keyPlan, keyWeights);
  blocks.prepare(b, keys);
  sums.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    update->add(b, sums, first, blocks.block(b, keys, first, count), columns, block, valid, decay);
    return TileBuilder::Values();
  });
  return decay ? decay.total(b) : Value();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Writes the state after the last position.
void StateProgram::storeTo(TileBuilder &b, const BlockState::Destinations &results) {
  if (!op.getInitialState() || !sums.lacksWeights())
    return sums.store(b, results);
  // Divided by the weights and multiplied again a state would not be what it was.
  Value isUnchanged = b.isEqual(context.frame.keys, b.index(0));
  if (isSumOfHeads())
    isUnchanged = arith::AndIOp::create(b, isUnchanged, isFirstOfGroup(b));
  b.branch(
      isUnchanged, [&] { sums.copy(b, initialState(), results); }, [&] { sums.store(b, results); });
}

void StateProgram::finish(TileBuilder &b, ArrayRef<Value> states, ArrayRef<Value> normalizers) {
  if (states.empty() && normalizers.empty())
    return;
  const KernelFrame &frame = context.frame;
  BlockState::Destinations results{states, normalizers, {frame.sequence, head()}};
  auto storeAll = [&] { storeTo(b, results); };
  if (op.getGateHeads() == GateHeads::Q || op.getOfKeys())
    return storeAll();
  // Query heads of one group hold the same state: the first of them writes it.
  b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), storeAll);
}

void StateProgram::writeBack(TileBuilder &b, const FinalState &from, const FinalState &to) {
  const KernelFrame &frame = context.frame;
  StoredState stored{from.rows, from.normalizer, {frame.sequence, head()}};
  BlockState::Destinations places{to.rows ? ArrayRef(to.rows) : ArrayRef<Value>(),
                                  to.normalizer ? ArrayRef(to.normalizer) : ArrayRef<Value>(),
                                  {frame.stateRow(), head()}};
  if (places.states.empty() && places.normalizers.empty())
    return;
  auto copy = [&] { sums.copy(b, stored, places); };
  if (Value given = frame.hasState(b))
    b.branch(given, copy);
  else
    copy();
}

/// Whether the program's query head is the one whose part begins with the initial state.
Value StateProgram::isFirstOfGroup(TileBuilder &b) const {
  const KernelFrame &frame = context.frame;
  return b.isEqual(frame.kvHead, frame.headOfGroup(b, b.index(0)));
}

void StateProgram::storePart(TileBuilder &b, Value parts) {
  storeTo(b, {parts, {}, {context.frame.sequence, context.frame.kvHead}});
}

void StateProgram::sumParts(TileBuilder &b, Value parts, ArrayRef<Value> states) {
  const KernelFrame &frame = context.frame;
  sums.storeSum(b, {states, {}, {frame.sequence, frame.head}}, frame.headsOfGroup(b),
                [&](Value i) -> StoredState {
                  return {parts, {}, {frame.sequence, frame.headOfGroup(b, i)}};
                });
}

//===----------------------------------------------------------------------===//
// States where they live
//===----------------------------------------------------------------------===//

StoredState StateProgram::at(const FinalState &place) const {
  return {place.rows, place.normalizer, {context.frame.stateRow(), head()}};
}

void StateProgram::store(TileBuilder &b, const FinalState &place) const {
  auto store = [&] {
    sums.store(b, {place.rows, place.normalizer ? ArrayRef(place.normalizer) : ArrayRef<Value>(),
                   at(place).at});
  };
  if (Value given = context.frame.hasState(b))
    b.branch(given, store);
  else
    store();
}

void StateProgram::clear(TileBuilder &b, const FinalState &place) const {
  StoredState stored = at(place);
  sums.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    stored.storeRows(b, b.constant(count, sums.getWidth(), 0), first);
    if (place.normalizer)
      stored.storeNormalizer(b, b.constant(count, 1, 0), first);
    return TileBuilder::Values();
  });
}

//===----------------------------------------------------------------------===//
// Segments of positions
//===----------------------------------------------------------------------===//

Value SegmentContext::isEntered(TileBuilder &b, Direction direction) const {
  auto differ = arith::CmpIPredicate::ne;
  if (direction == Direction::Forwards)
    return b.compare(differ, segment, b.index(0));
  return b.compare(differ, b.addIndex(segment, b.index(1)), segments);
}

Value SegmentContext::isLast(TileBuilder &b, Direction direction) const {
  if (direction == Direction::Backwards)
    return b.isEqual(segment, b.index(0));
  return b.isEqual(b.addIndex(segment, b.index(1)), segments);
}

void StateProgram::storeSegmentState(TileBuilder &b, Value decay) {
  if (segmentStates->decays)
    update->storeTransition(b, sums, *segmentStates, decay);
  sums.storeSegmentState(b, segmentStates->of(context.segment->segment));
}

void polyattn::sumSegment(TileBuilder &b, const ProgramContext &context,
                          ArrayRef<StateProgram *> states) {
  SmallVector<Value> decays;
  for (StateProgram *state : states) {
    state->beginPrefix(b);
    if (state->hasTotalByPosition())
      decays.push_back(b.constant(1, 1, 0));
  }
  decays = context.sweep(b).forBlocks(b, decays, [&](const BlockSpan &span, ValueRange in) {
    TileBuilder::Values totals;
    for (StateProgram *state : states) {
      Value decay = state->add(b, span, span.valid);
      if (state->hasTotalByPosition())
        totals.push_back(b.add(in[totals.size()], decay));
    }
    return totals;
  });
  size_t next = 0;
  for (StateProgram *state : states)
    state->storeSegmentState(b, state->hasTotalByPosition() ? decays[next++] : Value());
}

void StateProgram::sumSegments(TileBuilder &b, function_ref<StoredState(Value)> before,
                               bool finishes) {
  if (context.isOrdered()) {
    begin(b);
    return sums.addSegments(b, *segmentStates, before, finishes);
  }
  beginPrefix(b);
  sums.addSegments(b, *segmentStates, /*before=*/nullptr, /*finishes=*/true);
  sums.storeSegmentState(b, before(b.index(0)));
}
