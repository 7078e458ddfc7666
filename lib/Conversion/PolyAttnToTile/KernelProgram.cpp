//===- KernelProgram.cpp - what one program of a kernel does --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"
#include "GroupSums.h"
#include "Normalizer.h"
#include "PartSums.h"
#include "PlacedStates.h"
#include "SegmentSums.h"
#include "WeightSums.h"
#include "dialects/PolyAttn/FeatureParts.h"

using namespace mlir;
using namespace polyattn;

static SmallVector<Schedule> inForm(ArrayRef<Schedule> schedules, ScheduleForm form) {
  SmallVector<Schedule> chosen(schedules);
  for (Schedule &schedule : chosen)
    if (schedule.form == ScheduleForm::Both)
      schedule.form = form;
  return chosen;
}

/// Computes the blocks of the region `beside`: its rows are of the other side where those of the
/// kernel's body are of keys.
struct KernelProgram::Beside {
  KernelFrame frame;
  KernelProgram program;

  Beside(const KernelInfo &info, const KernelInfo &other, const ProgramContext &context)
      : frame(info.ofKeys == other.ofKeys ? context.frame : context.frame.mirrored()),
        program(info, info.schedules, contextOf(info, context)) {}

private:
  ProgramContext contextOf(const KernelInfo &info, const ProgramContext &other) {
    PassedResults passed;
    passed.weightSums = other.passed.besideSums;
    return {frame,    other.share, /*segment=*/std::nullopt, other.block,      other.cachedBlock,
            info.run, info.mask,   other.skipsIdleState,     std::move(passed)};
  }
};

static bool usesState(AttendOp attend, const Schedule &schedule) {
  return schedule.form != ScheduleForm::Quadratic && attend.getState();
}

/// The states of the attends that have one in this form, each once, and what the attends read of
/// them. The last reader of a state updates it in the loop that reads it, where it reads all of it
/// as it is; the keys of others come in once all have read them. So do the keys that leave a local
/// window that slides: they are not those of the block.
void KernelProgram::makePrograms(ArrayRef<Schedule> schedules) {
  auto reads = [&](size_t i, StateUpdateInterface op) {
    return usesState(info.attends[i], schedules[i]) &&
           llvm::is_contained(statesIn(AttendOp(info.attends[i]).getState()), op);
  };
  auto lastReaderOf = [&](StateUpdateInterface op) {
    return *llvm::find_if(llvm::reverse(llvm::seq<size_t>(0, info.attends.size())),
                          [&](size_t i) { return reads(i, op); });
  };
  for (auto [attend, schedule] : llvm::zip(info.attends, schedules))
    if (usesState(attend, schedule))
      for (StateUpdateInterface op : statesIn(AttendOp(attend).getState()))
        if (llvm::none_of(states, [&](StateProgram &state) { return state.getOp() == op; }))
          states.emplace_back(op, schedules[lastReaderOf(op)].featureBlock, context);
  for (StateProgram &state : states)
    updatedAfterReads.push_back(&state);
  for (auto [i, attend, schedule] : llvm::enumerate(info.attends, schedules)) {
    std::vector<StateReading> readings;
    if (usesState(attend, schedule)) {
      Value pairs = pairsOf(AttendOp(attend).getState());
      SmallVector<StateTerm> terms = termsOf(pairs ? pairs : Value(AttendOp(attend).getState()));
      for (const StateTerm &term : terms) {
        StateProgram *state = &stateOf(term.state);
        bool updates = term.isWhole() && (pairs || terms.size() == 1) && !state->slides() &&
                       lastReaderOf(term.state) == i;
        if (updates)
          llvm::erase(updatedAfterReads, state);
        readings.push_back({state, term, updates});
      }
    }
    programs.emplace_back(attend, schedule, std::move(readings), context);
  }
}

StateProgram &KernelProgram::stateOf(StateUpdateInterface op) {
  return *llvm::find_if(states, [&](const StateProgram &state) { return state.getOp() == op; });
}

/// The state that an attend reads as it is.
StateProgram &KernelProgram::stateOf(AttendOp attend) {
  return stateOf(attend.getState().getDefiningOp<StateUpdateInterface>());
}

KernelProgram::KernelProgram(const KernelInfo &info, ArrayRef<Schedule> schedules,
                             const ProgramContext &context)
    : info(info), context(context) {
  if (info.beside)
    beside = std::make_shared<Beside>(*info.beside, info, context);
  makePrograms(schedules);
  if (context.segment)
    bindSegmentSums();
}

KernelProgram::KernelProgram(const KernelInfo &info, ScheduleForm form,
                             const ProgramContext &context)
    : KernelProgram(info, inForm(info.schedules, form), context) {}

/// Gives the states the workspaces of their segments, in the order of `segmentTensors`.
void KernelProgram::bindSegmentSums() {
  const KernelFrame &frame = context.frame;
  unsigned next = 0;
  for (StateProgram &state : states) {
    SegmentStates segments;
    segments.states = frame.workspace(next++);
    if (state.getSums().hasNormalizer())
      segments.normalizers = frame.workspace(next++);
    if (state.getOp().hasDecay())
      segments.decays = frame.workspace(next++);
    segments.batch = frame.sequence.batch;
    segments.head = info.hasStatePerQuery() ? frame.heads.ofRows() : frame.heads.ofSeen();
    state.setSegmentStates(segments);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Writes a result in row-major orientation; a concatenation is written part by part.
void KernelProgram::storeResult(TileBuilder &b, VectorProgram &queries, Value vector, Value tensor,
                                Value column, const BlockSpan &span) {
  if (auto concat = vector.getDefiningOp<ConcatOp>()) {
    int64_t offset = 0;
    for (Value part : concat.getInputs()) {
      storeResult(b, queries, part, tensor, b.addIndex(column, b.index(offset)), span);
      offset += cast<FeatureType>(part.getType()).getWidth();
    }
    return;
  }
  const KernelFrame &frame = context.frame;
  Value row = frame.sequence.rowOf(b, span.position), tile = queries.rowMajor(vector);
  auto store = [&] {
    tile::StoreOp::create(b, tile, tensor,
                          ValueRange{frame.sequence.batch, row, frame.heads.ofRows(), column},
                          span.valid,
                          /*row_dim=*/1, /*col_dim=*/3);
  };
  if (featurePartsOf(info.attention) == 1)
    return store();
  tile = tile::ClusterSumOp::create(b, tile);
  b.branch(b.isEqual(frame.clusterRank, b.index(0)), store);
}

/// Writes the numbers of each row.
void KernelProgram::storeFactors(TileBuilder &b, const RowFactors &factors, Value tensor,
                                 const BlockSpan &span) {
  for (auto [i, column] : {std::pair{0, factors.ofNumerator}, {1, factors.ofDenominator}})
    if (column)
      tile::StoreOp::create(b, column, tensor,
                            ValueRange{context.frame.sequence.batch,
                                       context.frame.sequence.rowOf(b, span.position),
                                       context.frame.heads.ofRows(), b.index(i)},
                            span.valid,
                            /*row_dim=*/1, /*col_dim=*/-1);
}

/// They are stored as they come (StatesInRows.cpp).
static bool isKeptStates(Value result) {
  auto attend = result.getDefiningOp<AttendOp>();
  return attend && result == attend.getKeptStates();
}

void KernelProgram::storeResults(TileBuilder &b, ArrayRef<Accumulators> accumulators,
                                 VectorProgram &queries, const BlockSpan &span) {
  sumImportedHeads(b, queries, span);
  llvm::DenseMap<Value, RowFactors> factorsOf;
  for (auto [attend, sum] : llvm::zip(info.attends, accumulators)) {
    if (AttendOp(attend).getLagSlope())
      continue; // has no rows
    Value factors = AttendOp(attend).getRowFactors();
    Value output =
        normalize(b, attend, context, sum, span, factors ? &factorsOf[factors] : nullptr);
    queries.bind(AttendOp(attend).getOutput(), output);
  }
  storeExported(b, queries, span);
  for (const auto &[number, value] : info.outputs) {
    if (!isa<FeatureType>(value.getType()) || isKeptStates(value))
      continue;
    Value tensor = context.frame.result(number);
    if (auto factors = factorsOf.find(value); factors != factorsOf.end())
      storeFactors(b, factors->second, tensor, span);
    else
      storeResult(b, queries, value, tensor, b.index(0), span);
  }
  if (context.passed.weightSums)
    context.passed.weightSums->add(b, queries, span.valid);
}

void KernelProgram::storeSums(TileBuilder &b, const BlockSpan &span,
                              ArrayRef<Accumulators> accumulators) {
  VectorProgram vectors = context.queryVectors(b, span);
  storeResults(b, accumulators, vectors, span);
}

/// The sum over heads that a kernel takes of a vector; null where it takes the vector itself.
static SumHeadsOp sumOfHeads(Value vector, KernelOp kernel) {
  for (auto sum : kernel.getBody().getOps<SumHeadsOp>())
    if (sum.getVector() == vector)
      return sum;
  return {};
}

/// Binds the sums over heads of rows that other kernels have left in workspaces.
void KernelProgram::sumImportedHeads(TileBuilder &b, VectorProgram &rows, const BlockSpan &span) {
  KernelFrame &frame = context.frame;
  for (const StoredResult &imported : info.imported) {
    SumHeadsOp sum = sumOfHeads(imported.result, info.kernel);
    if (!sum)
      continue;
    int64_t width = cast<FeatureType>(imported.result.getType()).getWidth();
    Value tensor = frame.weights.tensorOf(imported.result);
    auto load = [&](Value head) -> Value {
      return tile::LoadOp::create(b, b.tileType(context.block, width), tensor,
                                  ValueRange{frame.sequence.batch,
                                             frame.sequence.rowOf(b, span.position), head,
                                             b.index(0)},
                                  span.valid, /*row_dim=*/1, /*col_dim=*/3, /*transposed=*/false);
    };
    // The program's head is one that others share.
    Value group = countSharing(b, tensor, frame.headTensor());
    Value first = b.mulIndex(frame.heads.ofRows(), group);
    rows.bind(sum, b.loop(b.index(1), group, b.index(1), load(first),
                          [&](Value i, ValueRange in) -> TileBuilder::Values {
                            return {b.add(in[0], load(b.addIndex(first, i)))};
                          })[0]);
  }
}

/// Stores rows that other kernels need, in workspaces.
void KernelProgram::storeExported(TileBuilder &b, VectorProgram &rows, const BlockSpan &span) {
  for (auto [i, exported] : llvm::enumerate(info.exported))
    storeResult(b, rows, exported.value(), context.passed.exported[i], b.index(0), span);
}

/// Products of rows are those of one query head, which keys share or not.
void KernelProgram::storeProducts(TileBuilder &b, ArrayRef<Accumulators> accumulators,
                                  const BlockSpan &span) {
  const KernelFrame &frame = context.frame;
  for (auto [attend, sums] : llvm::zip(info.attends, accumulators))
    if (Value tensor = context.passed.saved.lookup(AttendOp(attend).getRowProducts()))
      tile::StoreOp::create(b, sums.products, tensor,
                            ValueRange{frame.sequence.batch, frame.sequence.rowOf(b, span.position),
                                       frame.heads.query()},
                            span.valid, /*row_dim=*/1, /*col_dim=*/-1);
}

SmallVector<Value> KernelProgram::tensorsOfState(AttendOp attend) const {
  return tensorsOf(attend, FinalPart::State);
}

/// The tensors that take an attend's final state, or its normalizer.
SmallVector<Value> KernelProgram::tensorsOf(AttendOp attend, FinalPart part) const {
  SmallVector<Value> tensors;
  ResultRange finals = attend.getFinalStates();
  unsigned number = part == FinalPart::State ? 0 : 1;
  if (finals.size() <= number)
    return tensors;
  for (const Output &output : info.outputs)
    if (output.value == finals[number])
      tensors.push_back(tensorOfState(info, context.frame, output.number));
  if (Value tensor = context.passed.saved.lookup(finals[number]))
    tensors.push_back(tensor);
  return tensors;
}

void KernelProgram::storeFinalStates(TileBuilder &b) {
  GroupParts group(info, context.frame);
  for (AttendOp attend : info.attends) {
    if (!attend.getFinalState())
      continue;
    StateProgram &state = stateOf(attend);
    auto store = [&] {
      state.tensors().storeFinal(b, tensorsOf(attend, FinalPart::State),
                                 tensorsOf(attend, FinalPart::Normalizer));
    };
    Value parts = group.ofState(attend);
    auto storePart = [&] { state.tensors().storePart(b, parts); };
    if (!parts)
      store();
    else if (info.savesSum(attend))
      storePart(); // the kernel of groups writes what is saved, whatever their size
    else
      b.branch(group.isOneHead(b), store, storePart);
  }
}

/// Writes the final states, in the program where the sweep over the call's positions ends.
void KernelProgram::finish(TileBuilder &b) {
  bool given = llvm::any_of(info.attends, [](AttendOp attend) { return attend.getFinalState(); });
  if (!context.segment || !given)
    return ifStatesChange(b, context, [&] { storeFinalStates(b); });
  b.branch(context.segment->isLast(b, context.direction()), [&] { storeFinalStates(b); });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Computes a block. Where query heads share states, the head at hand updates them once the others
/// have read what they hold.
void KernelProgram::block(TileBuilder &b, const BlockSpan &span) {
  if (beside)
    beside->program.block(b, span);
  if (context.hasGroup) {
    BlockSpan reading = span;
    reading.onlyReads = true;
    context.frame.heads.forOthers(b, [&] { blockOfHead(b, reading); });
  }
  blockOfHead(b, span);
}

void KernelProgram::blockOfHead(TileBuilder &b, const BlockSpan &span) {
  VectorProgram queries = context.queryVectors(b, span);
  VectorProgram keys = context.keyVectors(b, span.position, span.valid);
  std::vector<BlockVectors> vectors;
  auto form = [&](size_t count) {
    while (vectors.size() < count)
      vectors.push_back(programs[vectors.size()].vectors(b, queries, keys, span));
  };
  auto formAll = [&] { form(programs.size()); };
  context.share->forParts(b, formAll, [&] {
    SmallVector<Accumulators> accumulators;
    for (auto [i, program] : llvm::enumerate(programs)) {
      form(i + 1);
      accumulators.push_back(program.block(b, queries, vectors[i], span));
    }
    for (StateProgram *state : updatedAfterReads)
      if (state->updatesWithBlock(span))
        state->add(b, span, state->positionsToAdd(b, span));
    storeProducts(b, accumulators, span);
    auto results = [&] { storeResults(b, accumulators, queries, span); };
    auto part = [&] { PartSums(info, context).store(b, accumulators, span); };
    auto rows = [&] {
      info.hasGroups() ? b.branch(GroupParts(info, context.frame).isOneHead(b), results, part)
                       : results();
    };
    context.share->finishBlock(b, accumulators, rows, part);
  });
}

/// The position at which updates with a run end: its start where nobody reads the state with it, or
/// where it goes on in the next call.
Value KernelProgram::endOfUpdates(TileBuilder &b, const Sweep &run) const {
  Value isRead = run.isFull;
  for (const StateProgram &state : states) {
    if (!state.updatesAfterRun() || run.isFull)
      continue;
    isRead = state.isReadAfter(b, run.begin, run.end);
    if (!isRead)
      return run.end;
  }
  return isRead ? b.select(isRead, run.end, run.begin) : run.end;
}

/// States take in positions of a local kernel's run that has ended.
void KernelProgram::takeIn(TileBuilder &b, const Sweep &positions, KeySource source) {
  positions.forBlocks(b, [&](const BlockSpan &span) {
    for (StateProgram &state : states)
      if (state.updatesAfterRun())
        state.add(b, span, span.valid, source);
  });
}

/// The blocks of a local kernel's run, and what states take in once it has ended.
void KernelProgram::blocksOfRun(TileBuilder &b, const Sweep &run) {
  run.forBlocks(b, [&](const BlockSpan &span) { block(b, span); });
  if (run.cached) {
    Value taken = b.select(run.isFull, run.cached, b.index(0));
    takeIn(b, Sweep{b.index(0), taken, context.cachedBlock}, KeySource::Cached);
  }
  takeIn(b, Sweep{run.begin, endOfUpdates(b, run), run.block, run.direction}, KeySource::Call);
}

/// States alone: keys are taken in, and no scores are computed. Of a head's segments the states are
/// there but that of the last one, which is where the sweep ends.
void KernelProgram::buildStates(TileBuilder &b) {
  auto sweep = [&] {
    for (StateProgram &state : states)
      state.begin(b);
    context.sweep(b).forBlocks(b, [&](const BlockSpan &span) {
      for (StateProgram &state : states)
        state.add(b, span, span.valid);
    });
    storeFinalStates(b);
  };
  if (context.segment)
    b.branch(context.segment->isLast(b, context.direction()), sweep);
  else
    sweep();
}

/// All blocks, in runs of a local kernel's if it has one. Then states take in the keys that have
/// left windows, for the next call.
void KernelProgram::sweepBlocks(TileBuilder &b) {
  Sweep sweep = context.sweep(b);
  if (context.run <= context.block && !sweep.cached)
    sweep.forBlocks(b, [&](const BlockSpan &span) { block(b, span); });
  else
    sweep.forRuns(b, context.run, [&](const Sweep &run) { blocksOfRun(b, run); });
  for (StateProgram &state : states)
    state.finishCall(b);
}

void KernelProgram::build(TileBuilder &b) {
  const ProgramSequence &sequence = context.frame.sequence;
  if (!info.hasRows && !sequence.cached && !sequence.before)
    return buildStates(b);
  for (StateProgram &state : states)
    state.begin(b);
  sweepBlocks(b);
  finish(b);
  storeZeros(b, info, context, context.block);
}

void KernelProgram::buildOneBlock(TileBuilder &b, const KernelInfo &info,
                                  const ProgramContext &context, int64_t length) {
  ProgramContext inside = context;
  inside.share = std::make_shared<AllFeatures>();
  inside.segment.reset();
  inside.block = length;
  inside.run = std::min(context.run, length);
  SmallVector<Schedule> schedules(info.schedules);
  for (Schedule &schedule : schedules)
    schedule.form = ScheduleForm::Quadratic;
  KernelProgram program(info, schedules, inside);
  Value zero = b.index(0), end = context.frame.sequence.queries;
  context.share->inOneProgram(
      b, [&] { program.block(b, BlockSpan{zero, end, zero, end, /*isOnly=*/true}); });
  storeZeros(b, info, context, length);
}

void KernelProgram::buildChunk(TileBuilder &b, Value position,
                               function_ref<StoredState(StateUpdateInterface)> stateOf) {
  for (StateProgram &state : states)
    state.readFrom(stateOf(state.getOp()));
  buildRows(b, position);
}

void KernelProgram::buildRows(TileBuilder &b, Value position) {
  Value end = context.frame.sequence.queries, length = b.index(context.block);
  BlockSpan span{position, b.minIndex(b.subIndex(end, position), length), b.index(0), end};
  if (context.chunk)
    std::tie(span.start, span.end) = std::pair(context.chunk->begin, context.chunk->end);
  if (context.runsAreLong()) {
    Value run = b.index(context.run);
    span.start = b.mulIndex(b.divIndex(position, run), run);
    span.end = b.minIndex(b.addIndex(span.start, run), end);
  }
  span.onlyReads = true;
  block(b, span);
}

void KernelProgram::buildPrefix(TileBuilder &b) {
  sumSegment(b, context, llvm::to_vector(llvm::make_pointer_range(states)));
}
