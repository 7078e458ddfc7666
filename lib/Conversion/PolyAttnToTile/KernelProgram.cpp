//===- KernelProgram.cpp - what one program of a kernel does --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"

using namespace mlir;
using namespace polyattn;

static SmallVector<Schedule> inForm(ArrayRef<Schedule> schedules, ScheduleForm form) {
  SmallVector<Schedule> chosen(schedules);
  for (Schedule &schedule : chosen)
    if (schedule.form == ScheduleForm::Both)
      schedule.form = form;
  return chosen;
}

KernelProgram::KernelProgram(const AttendSet &set, ArrayRef<Schedule> schedules,
                             const ProgramContext &context)
    : set(set), context(context) {
  for (auto [attend, schedule] : llvm::zip(set.attends, schedules))
    programs.emplace_back(attend, schedule, this->context);
  if (context.segment)
    bindSegmentSums();
}

KernelProgram::KernelProgram(const AttendSet &set, ScheduleForm form, const ProgramContext &context)
    : KernelProgram(set, inForm(set.schedules, form), context) {}

/// Gives the attends the workspaces of their sums, in the order of `segmentWorkspaces`.
void KernelProgram::bindSegmentSums() {
  const KernelFrame &frame = context.frame;
  unsigned next = 0;
  for (auto [attend, program] : llvm::zip(set.attends, programs)) {
    SegmentSums sums;
    sums.states = frame.workspace(next++);
    if (program.normalized())
      sums.normalizers = frame.workspace(next++);
    if (AttendOp(attend).hasDecay())
      sums.decays = frame.workspace(next++);
    sums.batch = frame.batch;
    sums.head = set.hasStatePerQuery() ? frame.head : frame.kvHead;
    program.setSegmentSums(sums);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Writes a result in natural orientation; a concatenation is written part by part.
void KernelProgram::storeResult(TileBuilder &b, VectorProgram &queries, Value vector, Value tensor,
                                Value column, const BlockPlace &place) {
  if (auto concat = vector.getDefiningOp<ConcatOp>()) {
    int64_t offset = 0;
    for (Value part : concat.getInputs()) {
      storeResult(b, queries, part, tensor, b.addIndex(column, b.index(offset)), place);
      offset += cast<FeatureType>(part.getType()).getWidth();
    }
    return;
  }
  tile::StoreOp::create(b, queries.natural(vector), tensor,
                        ValueRange{context.frame.batch, place.position, context.frame.head, column},
                        place.valid,
                        /*row_dim=*/1, /*col_dim=*/3);
}

void KernelProgram::storeResults(TileBuilder &b, ArrayRef<Accumulators> sums,
                                 VectorProgram &queries, const BlockPlace &place) {
  for (auto [attend, program, sum] : llvm::zip(set.attends, programs, sums))
    queries.bind(AttendOp(attend).getOutput(), program.normalize(b, sum, place));
  for (auto [i, result] : llvm::enumerate(set.returned()))
    if (set.computes[i] && isa<FeatureType>(result.getType()))
      storeResult(b, queries, result, context.frame.result(i), b.index(0), place);
}

void KernelProgram::storeFinalStates(TileBuilder &b) {
  for (auto [attend, program] : llvm::zip(set.attends, programs)) {
    SmallVector<Value> states, normalizers;
    for (auto [i, result] : llvm::enumerate(set.returned())) {
      AttendOp op = attend;
      if (result.getDefiningOp() != op || result == op.getOutput())
        continue;
      bool isState = result == op.getFinalStates().front();
      (isState ? states : normalizers).push_back(context.frame.result(i));
    }
    program.finish(b, states, normalizers);
  }
}

/// Writes the final states, in the program where the sweep over the call's positions ends.
void KernelProgram::finish(TileBuilder &b) {
  bool given = llvm::any_of(set.attends, [](AttendOp attend) { return attend.getFinalState(); });
  if (!context.segment || !given)
    return storeFinalStates(b);
  b.branch(context.segment->isLast(b, context.direction()), [&] { storeFinalStates(b); });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void KernelProgram::block(TileBuilder &b, const BlockPlace &place) {
  VectorProgram queries = context.queryVectors(b, place);
  SmallVector<Accumulators> sums;
  for (AttendProgram &program : programs)
    sums.push_back(program.block(b, queries, place));
  context.share->finishBlock(
      b, sums, [&] { storeResults(b, sums, queries, place); }, [&] { storePart(b, sums, place); });
}

/// Where updates with a run end: at its start where nobody reads the state with it.
Value KernelProgram::endOfUpdates(TileBuilder &b, const Sweep &run) const {
  Value isRead;
  for (const AttendProgram &program : programs) {
    if (!program.updatesAfterRun())
      continue;
    isRead = program.isStateReadAfter(b, run.begin, run.end);
    if (!isRead)
      return run.end;
  }
  return isRead ? b.select(isRead, run.end, run.begin) : run.end;
}

/// The blocks of a local kernel's run, and what states take in once it has ended.
void KernelProgram::blocksOfRun(TileBuilder &b, const Sweep &run) {
  run.forBlocks(b, [&](const BlockPlace &place) { block(b, place); });
  Sweep updates{run.begin, endOfUpdates(b, run), run.block, run.direction};
  updates.forBlocks(b, [&](const BlockPlace &place) {
    for (AttendProgram &program : programs)
      if (program.updatesAfterRun())
        program.update(b, place);
  });
}

void KernelProgram::build(TileBuilder &b) {
  for (AttendProgram &program : programs)
    program.begin(b);
  Sweep sweep = context.sweep(b);
  if (context.run <= context.block)
    sweep.forBlocks(b, [&](const BlockPlace &place) { block(b, place); });
  else
    sweep.forRuns(b, context.run, [&](const Sweep &run) { blocksOfRun(b, run); });
  finish(b);
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
      b, [&] { program.block(b, BlockPlace{zero, end, zero, end, /*isOnly=*/true}); });
}

void KernelProgram::buildSums(TileBuilder &b) {
  SmallVector<Value> decays;
  for (AttendProgram &program : programs) {
    program.beginSums(b);
    if (program.hasDecayByPosition())
      decays.push_back(b.constant(1, 1, 0));
  }
  decays = context.sweep(b).forBlocks(b, decays, [&](const BlockPlace &place, ValueRange in) {
    TileBuilder::Values sums;
    for (AttendProgram &program : programs) {
      Value decay = program.update(b, place);
      if (program.hasDecayByPosition())
        sums.push_back(b.add(in[sums.size()], decay));
    }
    return sums;
  });
  size_t next = 0;
  for (AttendProgram &program : programs)
    program.storeSums(b, program.hasDecayByPosition() ? decays[next++] : Value());
}
