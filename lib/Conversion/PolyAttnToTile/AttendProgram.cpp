//===- AttendProgram.cpp - one attention inside a tile kernel -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"
#include "dialects/PolyAttn/Factors.h"

using namespace mlir;
using namespace polyattn;

/// Whether queries can carry the weights of keys: these can be divided by, and kernels, which
/// multiply in f32, have a number for each product. Otherwise each side has its own, whose product
/// may come about where features and values have made up for them.
static bool canMoveWeights(const FeaturePlan &query, const FeaturePlan &key, double scoreScale) {
  return llvm::all_of(llvm::zip(query.monomials, key.monomials), [&](const auto &pair) {
    double ofQuery = std::get<0>(pair).weight, ofKey = std::get<1>(pair).weight;
    return ofKey != 0 && isRepresentable(scoreScale * ofQuery * ofKey);
  });
}

AttendProgram::AttendProgram(AttendOp op, const Schedule &schedule, const ProgramContext &context)
    : op(op), schedule(schedule), context(context),
      valueWidth(cast<FeatureType>(op.getValue().getType()).getWidth()) {
  if (!usesState())
    return;
  schedule.contracted ? planContractedState() : planState();
}

BlockState::Shape AttendProgram::stateShape(AttendOp op, const Schedule &schedule) {
  BlockState::Shape shape;
  auto widthOf = [](Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); };
  if (schedule.contracted) {
    ContractedState state = *ContractedState::of(op);
    shape.range.features = state.features();
    shape.hasNormalizer = bool(state.column.getDefiningOp<ConcatOp>());
    shape.width = state.width() - shape.hasNormalizer;
  } else {
    shape.range.features = widthOf(op.getKey());
    shape.hasNormalizer = op.getNormalizer().hasDenominator();
    shape.width = widthOf(op.getValue());
  }
  shape.range.block = schedule.featureBlock;
  return shape;
}

void AttendProgram::planState() {
  queryPlan = planFeatures(op.getQuery());
  keyPlan = planFeatures(op.getKey());
  // One side carries the weights of both: the stored features are bare products and the
  // state is divided by their weights where it is given and multiplied where it is asked for.
  // Where states live in arguments these hold them as they are read: what is left and found again
  // has the same bits. So do the states after blocks that a forward call has kept.
  bool isPlaced = cast<AttentionOp>(op->getParentOp()).hasStatesInPlace();
  bool movable = !isPlaced && !context.frame.slot && !readsStates() &&
                 canMoveWeights(queryPlan, keyPlan, op.scoreScale());
  BlockState::Shape shape = stateShape(op, schedule);
  shape.direction = context.direction();
  for (auto [q, k] : llvm::zip(queryPlan.monomials, keyPlan.monomials)) {
    queryWeights.push_back(op.scoreScale() * q.weight * (movable ? k.weight : 1));
    (movable ? shape.weights : keyWeights).push_back(k.weight);
  }
  if (llvm::all_of(shape.weights, [](double weight) { return weight == 1; }))
    shape.weights.clear();
  state = BlockState(std::move(shape), context.share);
}

Value AttendProgram::stateHead() const {
  return context.frame.headOf(/*queries=*/op.getGateHeads() == GateHeads::Q);
}

VectorProgram AttendProgram::keyProgram(TileBuilder &b, Value position, Value valid,
                                        KeySource source) const {
  BlockRows rows = source == KeySource::Kept ? context.keptRows(b, position, valid)
                                             : context.rows(b, position, valid);
  return context.frame.keyVectors(b, rows, blockOf(source));
}

//===----------------------------------------------------------------------===//
// Decay
//===----------------------------------------------------------------------===//

/// The decay between the positions of a block, the first `valid` of which exist.
BlockDecay AttendProgram::decay(TileBuilder &b, Value position, Value valid,
                                KeySource source) const {
  if (!op.hasDecay() || !isOrdered())
    return BlockDecay();
  int64_t columns = blockOf(source);
  auto equal = [&](Value gate) { return BlockDecay::ofEqualGates(b, gate, columns, valid); };
  if (std::optional<ArrayRef<double>> factors = op.getDecayFactors()) {
    SmallVector<double> logarithms;
    for (double factor : *factors)
      logarithms.push_back(std::log(factor));
    return equal(b.slice(b.column(logarithms), stateHead(), 1));
  }
  Value tensor = context.frame.input(op.getDecay());
  int64_t rank = cast<MemRefType>(tensor.getType()).getRank();
  if (rank == 1)
    return equal(tile::LoadOp::create(b, b.tileType(1, 1), tensor, stateHead(), Value(), -1, -1,
                                      /*transposed=*/false));
  SmallVector<Value> indices = {context.frame.batch, context.frame.rowOf(b, position), stateHead()};
  int64_t dimension = 1;
  if (source == KeySource::Kept) {
    tensor = context.frame.input(KeepOp::of(op.getDecay()).getPool());
    indices = {context.frame.stateRow(), stateHead(), position};
    dimension = 2;
  }
  return BlockDecay::ofGates(b, tile::LoadOp::create(b, b.tileType(1, columns), tensor, indices,
                                                     valid, /*row_dim=*/-1, dimension,
                                                     /*transposed=*/false));
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// Whether keys have come into the state that this block reads; null where that is not asked.
Value AttendProgram::isStateFilled(TileBuilder &b, const BlockSpan &span) const {
  if (!context.skipsIdleState || !isOrdered() || op.getInitialState())
    return {};
  if (!isForwards()) {
    Value end = updatesAfterRun() ? span.end : b.addIndex(span.position, span.valid);
    return b.compare(arith::CmpIPredicate::slt, end, context.frame.keys);
  }
  Value position = updatesAfterRun() ? span.start : span.position;
  return b.compare(arith::CmpIPredicate::sgt, context.share->rowOfCall(b, position), b.index(0));
}

Value AttendProgram::isStateReadAfter(TileBuilder &b, Value first, Value end) const {
  if (!context.skipsIdleState || !isOrdered() || op.getFinalState() || op.keepsStates())
    return {};
  Sweep own = context.sweep(b);
  Value isRead = isForwards() ? b.compare(arith::CmpIPredicate::slt, end, own.end)
                              : b.compare(arith::CmpIPredicate::sgt, first, own.begin);
  Value goesOn = context.share->goesOn(b);
  return goesOn ? arith::OrIOp::create(b, isRead, goesOn) : isRead;
}

void AttendProgram::begin(TileBuilder &b) {
  if (!usesState() || readsStates())
    return;
  state.makeBuffers(b);
  if (Value isFirst = context.share->isFirstLaunch(b))
    b.branch(isFirst, [&] { fillState(b); });
  else if (op.getInitialState() && context.frame.isContinued)
    b.branch(context.frame.isContinued, [&] { fillState(b); });
  else if (op.getInitialState())
    fillState(b);
  else if (context.segment)
    b.branch(context.segment->isEntered(b, context.direction()), [&] { fillState(b); });
  // Every query sees every key: the whole state first.
  if (!isOrdered())
    Sweep{b.index(0), context.frame.keys, context.block}.forBlocks(
        b, [&](const BlockSpan &span) { update(b, span); });
}

/// The initial state and normalizer as the caller has them.
StoredState AttendProgram::initialState() const {
  auto tensorsOf = [&](Value state) {
    SmallVector<Value> tensors;
    if (state)
      for (BlockArgument term : AddStatesOp::termsOf(state))
        tensors.push_back(context.frame.input(term));
    return tensors;
  };
  return StoredState::sumOf(tensorsOf(op.getInitialState()), tensorsOf(op.getInitialNormalizer()),
                            {context.frame.stateRow(), stateHead()}, op.getInitialTransposed());
}

/// The initial state, or zeros, and the segments that the sweep has behind it.
void AttendProgram::fillState(TileBuilder &b) {
  StoredState given;
  if (op.getInitialState())
    given = initialState();
  std::optional<SegmentsBehind> behind;
  if (context.segment)
    behind.emplace(SegmentsBehind{*segmentStates, context.segment->statesBehind});
  auto fill = [&](bool isGiven) {
    state.fill(b, isGiven ? &given : nullptr, behind ? &*behind : nullptr);
  };
  if (!op.getInitialState() || !hasPartOfState())
    return fill(bool(op.getInitialState()));
  b.branch(isFirstOfGroup(b), [&] { fill(/*isGiven=*/true); }, [&] { fill(/*isGiven=*/false); });
}

Value AttendProgram::update(TileBuilder &b, const BlockSpan &span, KeySource source) {
  VectorProgram keys = keyProgram(b, span.position, span.valid, source);
  StateColumns columns = stateColumns(keys);
  BlockDecay blockDecay = decay(b, span.position, span.valid, source);
  FeatureBlocks blocks(keyPlan, keyWeights);
  blocks.prepare(b, keys);
  state.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    state.update(b, blocks.block(b, keys, first, count), columns.rows, columns.normalizer, first,
                 span.valid, blockDecay);
    return TileBuilder::Values();
  });
  return blockDecay ? blockDecay.total(b) : Value();
}

/// Writes the state after the last position.
void AttendProgram::storeState(TileBuilder &b, const BlockState::Destinations &results) {
  if (!op.getInitialState() || !state.lacksWeights())
    return state.store(b, results);
  // Divided by the weights and multiplied again a state would not be what it was.
  Value isUnchanged = b.isEqual(context.frame.keys, b.index(0));
  if (hasPartOfState())
    isUnchanged = arith::AndIOp::create(b, isUnchanged, isFirstOfGroup(b));
  b.branch(
      isUnchanged, [&] { state.copy(b, initialState(), results); },
      [&] { state.store(b, results); });
}

void AttendProgram::finish(TileBuilder &b, ArrayRef<Value> states, ArrayRef<Value> normalizers) {
  if (states.empty() && normalizers.empty())
    return;
  const KernelFrame &frame = context.frame;
  BlockState::Destinations results{states, normalizers, {frame.sequence, stateHead()}};
  auto storeAll = [&] { storeState(b, results); };
  if (op.getGateHeads() == GateHeads::Q || op.getOfKeys())
    return storeAll();
  // Query heads of one group hold the same state: the first of them writes it.
  b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), storeAll);
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

bool AttendProgram::hasDecayByPosition() const {
  if (!op.hasDecay() || op.getDecayFactors())
    return false;
  return cast<RankedTensorType>(op.getDecay().getType()).getRank() != 1;
}

void AttendProgram::storeSegmentState(TileBuilder &b, Value decay) {
  const SegmentContext &own = *context.segment;
  if (segmentStates->decays) {
    if (!decay)
      decay = this->decay(b, own.begin, b.subIndex(own.end, own.begin)).total(b);
    context.share->inOneProgram(b, [&] { segmentStates->storeDecay(b, decay, own.segment); });
  }
  state.storeSegmentState(b, segmentStates->of(own.segment));
}
