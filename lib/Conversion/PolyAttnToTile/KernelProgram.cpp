//===- KernelProgram.cpp - what one program of a kernel does --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"
#include "WeightSums.h"

using namespace mlir;
using namespace polyattn;

static SmallVector<Schedule> inForm(ArrayRef<Schedule> schedules, ScheduleForm form) {
  SmallVector<Schedule> chosen(schedules);
  for (Schedule &schedule : chosen)
    if (schedule.form == ScheduleForm::Both)
      schedule.form = form;
  return chosen;
}

/// What computes the blocks of a set's guest: its rows are of the other side where those of the set
/// are of keys.
struct KernelProgram::Guest {
  KernelFrame frame;
  KernelProgram program;

  Guest(const AttendSet &set, const AttendSet &host, const ProgramContext &context)
      : frame(set.ofKeys() == host.ofKeys() ? context.frame : context.frame.mirrored()),
        program(set, set.schedules, contextOf(set, context)) {}

private:
  ProgramContext contextOf(const AttendSet &set, const ProgramContext &host) {
    return {frame,
            host.share,
            /*segment=*/std::nullopt,
            host.block,
            host.keptBlock,
            set.run,
            set.mask(),
            host.skipsIdleState,
            host.guestSums};
  }
};

KernelProgram::KernelProgram(const AttendSet &set, ArrayRef<Schedule> schedules,
                             const ProgramContext &context)
    : set(set), context(context) {
  if (set.guest)
    guest = std::make_shared<Guest>(*set.guest, set, context);
  for (auto [attend, schedule] : llvm::zip(set.attends, schedules))
    programs.emplace_back(attend, schedule, this->context);
  if (context.segment)
    bindSegmentSums();
}

KernelProgram::KernelProgram(const AttendSet &set, ScheduleForm form, const ProgramContext &context)
    : KernelProgram(set, inForm(set.schedules, form), context) {}

/// Gives the attends the workspaces of their segments' states, in the order of `segmentWorkspaces`.
void KernelProgram::bindSegmentSums() {
  const KernelFrame &frame = context.frame;
  unsigned next = 0;
  for (auto [attend, program] : llvm::zip(set.attends, programs)) {
    SegmentStates states;
    states.states = frame.workspace(next++);
    if (program.hasStateNormalizer())
      states.normalizers = frame.workspace(next++);
    if (AttendOp(attend).hasDecay())
      states.decays = frame.workspace(next++);
    states.batch = frame.batch;
    states.head = set.hasStatePerQuery() ? frame.head : frame.kvHead;
    program.setSegmentStates(states);
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
  Value row = frame.rowOf(b, span.position);
  tile::StoreOp::create(b, queries.rowMajor(vector), tensor,
                        ValueRange{frame.batch, row, frame.head, column}, span.valid,
                        /*row_dim=*/1, /*col_dim=*/3);
}

/// Writes the two numbers of each row.
void KernelProgram::storeFactors(TileBuilder &b, const RowFactors &factors, Value tensor,
                                 const BlockSpan &span) {
  for (auto [i, column] : {std::pair{0, factors.ofNumerator}, {1, factors.ofDenominator}})
    tile::StoreOp::create(b, column, tensor,
                          ValueRange{context.frame.batch, context.frame.rowOf(b, span.position),
                                     context.frame.head, b.index(i)},
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
  takeRows(b, queries, span);
  llvm::DenseMap<Value, RowFactors> factorsOf;
  for (auto [attend, program, sum] : llvm::zip(set.attends, programs, accumulators)) {
    Value factors = AttendOp(attend).getRowFactors();
    Value output = program.normalize(b, sum, span, factors ? &factorsOf[factors] : nullptr);
    queries.bind(AttendOp(attend).getOutput(), output);
  }
  giveRows(b, queries, span);
  for (auto [i, result] : llvm::enumerate(set.returned())) {
    if (!set.computes[i] || !isa<FeatureType>(result.getType()) || isKeptStates(result))
      continue;
    Value tensor = context.frame.result(i);
    if (auto factors = factorsOf.find(result); factors != factorsOf.end())
      storeFactors(b, factors->second, tensor, span);
    else
      storeResult(b, queries, result, tensor, b.index(0), span);
  }
  if (context.weightSums)
    context.weightSums->add(b, queries, span.valid);
}

/// Binds what the results need of other sets.
void KernelProgram::takeRows(TileBuilder &b, VectorProgram &rows, const BlockSpan &span) {
  const KernelFrame &frame = context.frame;
  for (auto [i, taken] : llvm::enumerate(set.taken)) {
    Value tensor = frame.workspace(context.firstPassed + set.given.size() + i);
    int64_t width = cast<FeatureType>(taken.vector.getType()).getWidth();
    rows.bind(taken.vector,
              tile::LoadOp::create(
                  b, b.tileType(context.block, width), tensor,
                  ValueRange{frame.batch, frame.rowOf(b, span.position), frame.head, b.index(0)},
                  span.valid, /*row_dim=*/1, /*col_dim=*/3, /*transposed=*/false));
  }
}

/// Stores what other sets need of this one.
void KernelProgram::giveRows(TileBuilder &b, VectorProgram &rows, const BlockSpan &span) {
  for (auto [i, given] : llvm::enumerate(set.given))
    storeResult(b, rows, given.vector, context.frame.workspace(context.firstPassed + i), b.index(0),
                span);
}

/// The workspace of a value that the kernel keeps; null for others.
Value KernelProgram::workspaceOf(Value value) const {
  for (auto [i, kept] : llvm::enumerate(context.kept))
    if (kept.value == value)
      return context.frame.workspace(context.firstKept + i);
  return {};
}

/// Products of rows are those of one query head, which keys share or not.
void KernelProgram::storeProducts(TileBuilder &b, ArrayRef<Accumulators> accumulators,
                                  const BlockSpan &span) {
  const KernelFrame &frame = context.frame;
  for (auto [attend, sums] : llvm::zip(set.attends, accumulators))
    if (Value tensor = workspaceOf(AttendOp(attend).getRowProducts()))
      tile::StoreOp::create(
          b, sums.products, tensor,
          ValueRange{frame.batch, frame.rowOf(b, span.position), frame.headOf(/*queries=*/true)},
          span.valid, /*row_dim=*/1, /*col_dim=*/-1);
}

/// The tensors that take an attend's final state, or its normalizer.
SmallVector<Value> KernelProgram::tensorsOf(AttendOp attend, FinalPart part) const {
  SmallVector<Value> tensors;
  ResultRange finals = attend.getFinalStates();
  unsigned number = part == FinalPart::State ? 0 : 1;
  if (finals.size() <= number)
    return tensors;
  for (auto [i, result] : llvm::enumerate(set.returned()))
    if (result == finals[number])
      tensors.push_back(tensorOfState(i));
  if (Value tensor = workspaceOf(finals[number]))
    tensors.push_back(tensor);
  return tensors;
}

void KernelProgram::storeFinalStates(TileBuilder &b) {
  for (size_t i = 0; i < programs.size(); ++i) {
    AttendProgram &program = programs[i];
    AttendOp attend = set.attends[i];
    auto store = [&] {
      program.finish(b, tensorsOf(attend, FinalPart::State),
                     tensorsOf(attend, FinalPart::Normalizer));
    };
    Value parts = partsOfState(attend);
    auto storePart = [&] { program.storePartOfState(b, parts); };
    if (!parts)
      store();
    else if (set.keepsSum(attend))
      storePart(); // the kernel of groups writes what is kept, whatever their size
    else
      storeGroupPart(b, store, storePart);
  }
}

/// Writes the final states, in the program where the sweep over the call's positions ends.
void KernelProgram::finish(TileBuilder &b) {
  bool given = llvm::any_of(set.attends, [](AttendOp attend) { return attend.getFinalState(); });
  if (!context.segment || !given)
    return ifStatesChange(b, [&] { storeFinalStates(b); });
  b.branch(context.segment->isLast(b, context.direction()), [&] { storeFinalStates(b); });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Computes a block. Where query heads share states, the head at hand updates them once the others
/// have read what they hold.
void KernelProgram::block(TileBuilder &b, const BlockSpan &span) {
  if (guest)
    guest->program.block(b, span);
  if (context.hasGroup) {
    BlockSpan reading = span;
    reading.onlyReads = true;
    forOtherHeads(b, [&] { blockOfHead(b, reading); });
  }
  blockOfHead(b, span);
}

void KernelProgram::blockOfHead(TileBuilder &b, const BlockSpan &span) {
  VectorProgram queries = context.queryVectors(b, span);
  std::vector<BlockVectors> vectors;
  auto form = [&](size_t count) {
    while (vectors.size() < count)
      vectors.push_back(programs[vectors.size()].vectors(b, queries, span));
  };
  auto formAll = [&] { form(programs.size()); };
  context.share->forParts(b, formAll, [&] {
    SmallVector<Accumulators> accumulators;
    for (auto [i, program] : llvm::enumerate(programs)) {
      form(i + 1);
      accumulators.push_back(program.block(b, queries, vectors[i], span));
    }
    storeProducts(b, accumulators, span);
    auto results = [&] { storeResults(b, accumulators, queries, span); };
    auto part = [&] { storePart(b, accumulators, span); };
    auto rows = [&] { set.ofKeys() ? storeGroupPart(b, results, part) : results(); };
    context.share->finishBlock(b, accumulators, rows, part);
  });
}

/// The position at which updates with a run end: its start where nobody reads the state with it, or
/// where it goes on in the next call.
Value KernelProgram::endOfUpdates(TileBuilder &b, const Sweep &run) const {
  Value isRead = run.isFull;
  for (const AttendProgram &program : programs) {
    if (!program.updatesAfterRun() || run.isFull)
      continue;
    isRead = program.isStateReadAfter(b, run.begin, run.end);
    if (!isRead)
      return run.end;
  }
  return isRead ? b.select(isRead, run.end, run.begin) : run.end;
}

/// States take in positions of a local kernel's run that has ended.
void KernelProgram::takeIn(TileBuilder &b, const Sweep &positions, KeySource source) {
  positions.forBlocks(b, [&](const BlockSpan &span) {
    for (AttendProgram &program : programs)
      if (program.updatesAfterRun())
        program.update(b, span, source);
  });
}

/// The blocks of a local kernel's run, and what states take in once it has ended.
void KernelProgram::blocksOfRun(TileBuilder &b, const Sweep &run) {
  run.forBlocks(b, [&](const BlockSpan &span) { block(b, span); });
  if (run.kept) {
    Value taken = b.select(run.isFull, run.kept, b.index(0));
    takeIn(b, Sweep{b.index(0), taken, context.keptBlock}, KeySource::Kept);
  }
  takeIn(b, Sweep{run.begin, endOfUpdates(b, run), run.block, run.direction}, KeySource::Call);
}

/// States alone: keys are taken in, and no scores are computed. Of a head's segments the states are
/// there but that of the last one, which is where the sweep ends.
void KernelProgram::buildStates(TileBuilder &b) {
  auto sweep = [&] {
    for (AttendProgram &program : programs)
      program.begin(b);
    context.sweep(b).forBlocks(b, [&](const BlockSpan &span) {
      for (AttendProgram &program : programs)
        program.update(b, span);
    });
    storeFinalStates(b);
  };
  if (context.segment)
    b.branch(context.segment->isLast(b, context.direction()), sweep);
  else
    sweep();
}

/// All blocks, in runs of a local kernel's if it has one.
void KernelProgram::sweepBlocks(TileBuilder &b) {
  Sweep sweep = context.sweep(b);
  if (context.run <= context.block && !sweep.kept)
    sweep.forBlocks(b, [&](const BlockSpan &span) { block(b, span); });
  else
    sweep.forRuns(b, context.run, [&](const Sweep &run) { blocksOfRun(b, run); });
}

void KernelProgram::build(TileBuilder &b) {
  if (!set.hasRows() && !context.frame.kept)
    return buildStates(b);
  for (AttendProgram &program : programs)
    program.begin(b);
  sweepBlocks(b);
  finish(b);
  storeZeros(b, context.block);
}

void KernelProgram::buildOneBlock(TileBuilder &b, const AttendSet &set,
                                  const ProgramContext &context, int64_t length) {
  ProgramContext inside = context;
  inside.share = std::make_shared<AllFeatures>();
  inside.segment.reset();
  inside.block = length;
  inside.run = std::min(context.run, length);
  SmallVector<Schedule> schedules(set.schedules);
  for (Schedule &schedule : schedules)
    schedule.form = ScheduleForm::Quadratic;
  KernelProgram program(set, schedules, inside);
  Value zero = b.index(0), end = context.frame.queries;
  context.share->inOneProgram(
      b, [&] { program.block(b, BlockSpan{zero, end, zero, end, /*isOnly=*/true}); });
  program.storeZeros(b, length);
}

void KernelProgram::buildPrefix(TileBuilder &b) {
  SmallVector<Value> decays;
  for (AttendProgram &program : programs) {
    program.beginPrefix(b);
    if (program.hasDecayByPosition())
      decays.push_back(b.constant(1, 1, 0));
  }
  decays = context.sweep(b).forBlocks(b, decays, [&](const BlockSpan &span, ValueRange in) {
    TileBuilder::Values totals;
    for (AttendProgram &program : programs) {
      Value decay = program.update(b, span);
      if (program.hasDecayByPosition())
        totals.push_back(b.add(in[totals.size()], decay));
    }
    return totals;
  });
  size_t next = 0;
  for (AttendProgram &program : programs)
    program.storeSegmentState(b, program.hasDecayByPosition() ? decays[next++] : Value());
}
