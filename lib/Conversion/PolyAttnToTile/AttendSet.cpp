//===- AttendSet.cpp - the attends that one program computes --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendSet.h"
#include "Dependencies.h"
#include "FeaturePlan.h"
#include "PassedRows.h"
#include "dialects/PolyAttn/Sides.h"
#include "dialects/PolyAttn/StateTerms.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Schedule/ContractedState.h"

using namespace mlir;
using namespace polyattn;

/// The first tensor [B, T, H, d] that a vector is read from.
static Value sequenceTensor(Value vector) {
  Value tensor;
  walkDependencies(vector, [&](Value value) {
    auto read = value.getDefiningOp<ReadOp>();
    if (!read)
      return WalkResult::advance();
    if (cast<RankedTensorType>(read.getTensor().getType()).getRank() != 4)
      return WalkResult::skip();
    tensor = read.getTensor();
    return WalkResult::interrupt();
  });
  return tensor;
}

static bool dependsOnAttend(Value vector) {
  return walkDependencies(vector, [](Value value) {
    return value.getDefiningOp<AttendOp>() ? WalkResult::interrupt() : WalkResult::advance();
  });
}

/// Whether a value is computed from an attend, not only by way of another one.
static bool isNextTo(Value vector, AttendOp attend) {
  return walkDependencies(vector, [&](Value value) {
    auto other = value.getDefiningOp<AttendOp>();
    if (!other)
      return WalkResult::advance();
    return other == attend ? WalkResult::interrupt() : WalkResult::skip();
  });
}

/// The number of that tensor among an attention's arguments.
static std::optional<int64_t> sequenceNumber(Value vector) {
  Value tensor = sequenceTensor(vector);
  return tensor ? std::optional(cast<BlockArgument>(tensor).getArgNumber()) : std::nullopt;
}

/// The tensor that gives positions and heads where there is no attend: that of a result, or one
/// that a sum is over.
LogicalResult AttendSet::findRowsAlone() {
  std::optional<int64_t> rows;
  for (auto [i, result] : llvm::enumerate(returned()))
    if (!rows && computes[i] && isa<FeatureType>(result.getType()))
      rows = tensors.inputs + i;
  for (const WeightSum &sum : sums)
    for (Value vector : sum.gradient->getOperands())
      if (!rows && isa<FeatureType>(vector.getType()))
        rows = sequenceNumber(vector);
  if (!rows)
    return attention.emitError("no tensor [B, T, H, d], read or returned, says how many positions "
                               "and heads there are");
  tensors.queryTensor = tensors.keyTensor = *rows;
  return success();
}

/// The tensors that give positions and heads.
LogicalResult AttendSet::findSequences() {
  // A query that is read from no tensor has the positions and heads of its results: others may be
  // those of keys, or of queries where these are.
  std::optional<int64_t> query = sequenceNumber(first().getQuery()),
                         key = sequenceNumber(first().getValue());
  for (auto [i, result] : llvm::enumerate(returned()))
    if (!query && isa<FeatureType>(result.getType()) && result != first().getKeptStates() &&
        isNextTo(result, first()))
      query = tensors.inputs + i;
  if (!key)
    key = sequenceNumber(first().getKey());
  bool areEqual = hasEqualSides(tensors.sameHeads);
  if (areEqual && !key)
    key = query;
  if (areEqual && !query)
    query = key;
  if (!query)
    return first().emitError("no tensor [B, T, H, d], read for the query or returned, says how "
                             "many positions and heads of queries there are");
  if (!key)
    return first().emitError("neither key nor value is read from a tensor [B, T, H, d], which "
                             "would say how many positions and heads of keys there are");
  tensors.queryTensor = *query;
  tensors.keyTensor = *key;
  return success();
}

/// Whether programs can read what an attend names: its features one after another, each from all
/// elements of a state's values, or from all features of it where that is transposed; of a
/// contraction pairs, and what stands apart from them.
static LogicalResult checkReadings(AttendOp attend, const Schedule &schedule) {
  Value pairs = pairsOf(attend.getState());
  if (bool(pairs) != schedule.contracted || (pairs && !ContractedState::of(attend)))
    return attend.emitError("the schedule contracts a state where the attend reads unfolded pairs, "
                            "and only there");
  int64_t row = 0;
  for (const StateTerm &term : termsOf(pairs ? pairs : Value(attend.getState()))) {
    StateOp state = term.state;
    bool isWhole = term.values == state.getValue().getType().getWidth();
    bool follows = pairs ? term.row == 0 && !term.isTransposed : term.row == row && !term.column;
    if (!isWhole || !follows || !state.hasRecurrenceOfAttend(attend))
      return attend.emitError("no program reads such a view of a state: expected rows of states, "
                              "or of transposed ones, one after another");
    row += term.rows();
  }
  // The features that a loop over a state forms are those of the state's keys.
  auto own = attend.getState().getDefiningOp<StateOp>();
  bool hasOwnFeatures = own && own.getKey() == attend.getKey();
  if (schedule.diagonal == ScheduleDiagonal::Features && !schedule.contracted &&
      !attend.getLocalQuery() && attend.isOrdered() && !hasOwnFeatures)
    return attend.emitError("a schedule whose diagonal is computed from features needs the state "
                            "of the attend's own keys, not a view: write `diagonal = scores`");
  return success();
}

/// Checks one attend beside those before it.
LogicalResult AttendSet::add(AttendOp attend) {
  if (attend.getGrouping() != first().getGrouping())
    return attend.emitError("attends of one mask must have the same grouping: one program reads "
                            "the keys of one head, for all of them");
  for (Value operand : attend.getOperands())
    if (dependsOnAttend(operand))
      return attend.emitError("an attend of what another attend computes needs an entry of its "
                              "own: the first one's blocks are not all there yet");
  Schedule &schedule = schedules.emplace_back(scheduleOf(attend));
  bool needsName = schedule.form != ScheduleForm::Quadratic && !attend.getBlockStates();
  if (needsName && !attend.getState())
    return attend.emitError("states must be named first (--polyattn-name-states)");
  if (attend.getState() && failed(checkReadings(attend, schedule)))
    return failure();
  AttentionShape shape = AttentionShape::of(attend, schedule);
  if (schedule.form != ScheduleForm::Quadratic) {
    if (shape.features > kMaxMonomials)
      return attend.emitError("a state of ")
             << shape.features << " features is too large to compute with, the limit is "
             << kMaxMonomials;
  }
  if (shape.localBlock && run && shape.localBlock != run)
    return attend.emitError("local kernels of one attention must have the same block");
  run = shape.localBlock ? shape.localBlock : run;
  for (int64_t length : schedule.shortBlocks)
    if (StringRef reason = noShortBlock(shape, length); !reason.empty())
      return attend.emitError(reason);
  return success();
}

/// What the attends have in common, and whether they can be computed together.
LogicalResult AttendSet::complete(bool sameHeads) {
  llvm::append_range(tensors.names, attention.getArgNames());
  llvm::append_range(tensors.names, attention.getResultNames());
  llvm::append_range(tensors.types, attention.getBody().getArgumentTypes());
  tensors.inputs = tensors.types.size();
  for (auto type : attention.getResultTypes().getAsValueRange<TypeAttr>())
    tensors.types.push_back(type);
  tensors.interleaved = !isRowsAlone() && first().getGrouping() == Grouping::Interleaved;
  tensors.sameHeads = sameHeads || isRowsAlone();
  tensors.rowsOfKeys = ofKeys();
  if (BlockArgument position = attention.getFirstPositionArgument())
    tensors.firstPosition = position.getArgNumber();
  if (BlockArgument slots = attention.getSlotsArgument())
    tensors.slots = slots.getArgNumber();
  if (BlockArgument lengths = attention.getLengthsArgument())
    tensors.lengths = lengths.getArgNumber();
  for (KeepOp keep : attention.getBody().getOps<KeepOp>())
    tensors.cachedBlock = keep.getBlock();
  if (BlockArgument offsets = attention.getOffsetsArgument())
    tensors.offsets = offsets.getArgNumber();
  if (failed(isRowsAlone() ? findRowsAlone() : findSequences()))
    return failure();
  for (AttendOp attend : attends) {
    if (failed(add(attend)))
      return failure();
    for (StateOp state : attend.getState() ? statesIn(attend.getState()) : SmallVector<StateOp>())
      if (!llvm::is_contained(states, state))
        states.push_back(state);
  }
  for (AttendOp attend : attends)
    if (attend.getStateEvery() && int64_t(*attend.getStateEvery()) != block())
      return attend.emitError("states after every ")
             << int64_t(*attend.getStateEvery())
             << " positions are those after blocks of as many, but the schedules' block has "
             << block();
  return success();
}

/// Whether the kernels of the form `chunkwise` can compute these attends (ChunkwiseKernels.h).
LogicalResult AttendSet::checkSegments() const {
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    AttendOp op = attend;
    auto error = [&](const Twine &message) -> LogicalResult { return op.emitError(message); };
    const Schedule &other = schedules[0];
    if (std::tie(schedule.segment, schedule.states, schedule.quadraticBelow) !=
            std::tie(other.segment, other.states, other.quadraticBelow) &&
        (schedule.segment || segment()))
      return error("attends of one mask must have the same segments and states between them");
    if (!segment())
      continue;
    if (segment() % block() || (run && segment() % run))
      return error("a segment of " + Twine(segment()) + " positions is no multiple of " +
                   Twine(run ? run : block()) + ", the block of the entry's kernels");
    if (schedule.quadraticBelow && schedule.diagonal == ScheduleDiagonal::Features)
      return error(
          "short calls of the form `chunkwise` have no features: write `diagonal = scores`");
    bool readsViews = llvm::any_of(
        attends, [](AttendOp other) { return !other.getState().getDefiningOp<StateOp>(); });
    if (savesValues() || fused || readsViews)
      return error("the form `chunkwise` has no gradients of decays or states after blocks beside "
                   "its rows, and no views of states: leave the schedule out");
    if (StringRef reason = noChunks(op); !reason.empty())
      return error(reason);
  }
  return success();
}

static bool isSumTransposed(WeightGradientOp gradient) {
  return !gradient.getInputs().empty() && VectorProgram::isRowMajor(gradient.getInputs()[0]) &&
         !VectorProgram::isRowMajor(gradient.getGradients()[0]);
}

/// Each pair is added where its vectors are.
static void addSums(WeightGradientOp gradient, RowPassing &passing) {
  for (size_t i = 0; i < gradient.getGradients().size(); ++i) {
    SmallVector<Value> vectors = {gradient.getGradients()[i]};
    if (!gradient.getInputs().empty())
      vectors.push_back(gradient.getInputs()[i]);
    AttendSet &set = passing.computing(vectors);
    if (set.sums.empty() || set.sums.back().gradient != gradient)
      set.sums.push_back({gradient, {}, isSumTransposed(gradient)});
    set.sums.back().terms.push_back(i);
  }
}

/// Notes which row products and final states the gradients of decays and of shared states read:
/// kernels store them.
static void saveForSums(std::vector<AttendSet> &sets) {
  size_t next = 0;
  auto save = [&](AttendSet &set, Value value) {
    bool isSum = isa<RankedTensorType>(value.getType()) &&
                 llvm::is_contained(set.groupAttends(), value.getDefiningOp<AttendOp>());
    (isSum ? set.savedSums : set.saved).push_back({value, "saved" + std::to_string(next++)});
  };
  for (AttendSet &set : sets)
    for (AttendOp attend : set.attends) {
      if (Value products = attend.getRowProducts(); products && !products.use_empty())
        save(set, products);
      for (Value state : attend.getFinalStates())
        if (llvm::any_of(state.getUsers(), llvm::IsaPred<DecayGradientOp, AddGradientsOp>))
          save(set, state);
    }
}

FailureOr<std::vector<AttendSet>> AttendSet::allOf(AttentionOp attention) {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  std::vector<AttendSet> sets;
  auto setOf = [&](AttendOp attend) -> AttendSet & {
    AttendKind kind = AttendKind::of(attend);
    auto found = llvm::find_if(sets, [&](const AttendSet &set) { return set.kind == kind; });
    return found == sets.end() ? sets.emplace_back(AttendSet(attention, kind)) : *found;
  };
  for (Operation &op : attention.getBody().front()) {
    if (isa<AttendBackwardOp>(op))
      return op.emitError("gradients of this attend are not compiled yet");
    if (auto attend = dyn_cast<AttendOp>(op)) {
      // They are two numbers of a row, stored as they come, and no vector of a block.
      Value factors = attend.getRowFactors();
      if (factors &&
          !llvm::all_of(factors.getUsers(), [](Operation *user) { return isa<ReturnOp>(user); }))
        return attend.emitError("tile kernels can only return a row's factors");
      setOf(attend).attends.push_back(attend);
    }
  }
  auto hasRowsOfQueries = [&](const AttendSet &set) {
    return set.hasRowsOfQueries(signature->sameHeads);
  };
  if (llvm::none_of(sets, hasRowsOfQueries))
    sets.emplace_back(attention);
  RowPassing passing(attention, sets, signature->sameHeads);
  llvm::DenseSet<Operation *> summed; // equal gradients are one op, and several results
  for (Value result : sets[0].returned()) {
    AttendSet *computing = &sets[0];
    if (auto gradient = result.getDefiningOp<WeightGradientOp>()) {
      if (summed.insert(gradient).second)
        addSums(gradient, passing);
    } else if (!isa_and_nonnull<DecayGradientOp, AddGradientsOp>(result.getDefiningOp())) {
      computing = &passing.computing(result);
    }
    for (AttendSet &set : sets)
      set.computes.push_back(&set == computing);
  }
  if (sets.size() > 1 && sets.back().isRowsAlone() && !sets.back().hasRows())
    sets.pop_back();
  saveForSums(sets);
  if (sets.size() > 1 && attention.hasStatesInPlace())
    return attention.emitError("states that live in arguments have no tile kernels where attends "
                               "have different masks or rows of different sides");
  for (const AttendSet &set : sets)
    if (!set.sums.empty() && attention.hasStatesInPlace())
      return attention.emitError("states that live in arguments have no tile kernels beside "
                                 "gradients of weights");
  for (AttendSet &set : sets)
    if (failed(set.complete(signature->sameHeads)))
      return failure();
  fuseSets(sets);
  for (const AttendSet &set : sets)
    if (failed(set.checkSegments()))
      return failure();
  return sets;
}

OperandRange AttendSet::returned() const {
  return cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
}

bool AttendSet::hasRows() const {
  if (!sums.empty() || !exported.empty())
    return true;
  for (auto [result, isOwn] : llvm::zip(returned(), computes))
    if (isOwn && isa<FeatureType>(result.getType()))
      return true;
  return !llvm::all_of(attends, givesStatesAlone);
}

bool AttendSet::hasStatePerQuery() const {
  return llvm::any_of(attends,
                      [](AttendOp attend) { return attend.getGateHeads() == GateHeads::Q; });
}

SmallVector<int64_t> AttendSet::shortBlocks() const {
  if (fused || readsStates() || isRowsAlone())
    return {};
  SmallVector<int64_t> lengths(schedules[0].shortBlocks.begin(), schedules[0].shortBlocks.end());
  for (const Schedule &schedule : schedules)
    llvm::erase_if(
        lengths, [&](int64_t length) { return !llvm::is_contained(schedule.shortBlocks, length); });
  return lengths;
}

int64_t AttendSet::block() const {
  if (isRowsAlone())
    return Schedule().block;
  int64_t length = run ? run : INT64_MAX;
  for (const Schedule &schedule : schedules)
    length = std::min(length, schedule.block);
  return length;
}

int64_t AttendSet::quadraticBelow() const {
  int64_t below = 0;
  for (const Schedule &schedule : schedules)
    if (schedule.form == ScheduleForm::Both)
      below = below ? std::min(below, schedule.quadraticBelow) : schedule.quadraticBelow;
  return below;
}
