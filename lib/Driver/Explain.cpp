//===- Explain.cpp - what was decided, for people -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/Explain.h"
#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Schedule/Schedule.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace polyattn;

static std::string number(double value) {
  return llvm::formatv(value < 1e9 ? "{0:f0}" : "{0:e1}", value).str();
}

/// The schedule in words.
static void describe(llvm::raw_ostream &stream, const Schedule &schedule) {
  if (schedule.form == ScheduleForm::Both || schedule.quadraticBelow)
    stream << "quadratic below T = " << schedule.quadraticBelow << ", else a state";
  else
    stream << (schedule.form == ScheduleForm::Quadratic ? "quadratic" : "a state");
  if (schedule.form == ScheduleForm::Chunkwise)
    stream << " before each segment of " << schedule.segment << " positions";
  stream << "; blocks of " << schedule.block << " positions";
  if (schedule.form != ScheduleForm::Quadratic) {
    bool scores = schedule.diagonal == ScheduleDiagonal::Scores;
    stream << ", pairs inside a block by " << (scores ? "scores" : "features") << "; "
           << schedule.featureBlock << " features at a time";
    if (schedule.contracted)
      stream << ", each product of the value and the key's other factor once";
  }
  if (schedule.shortBlocks.empty())
    return;
  stream << "; calls of at most ";
  llvm::interleave(schedule.shortBlocks, stream, " or ");
  stream << " positions are one block";
}

/// The forms that exist and what they cost; `*` marks what was chosen.
static void compare(llvm::raw_ostream &stream, const AttentionShape &shape,
                    const Schedule &schedule) {
  ScheduleCosts costs = ScheduleCosts::of(shape, schedule.block);
  bool usesState = schedule.form != ScheduleForm::Quadratic;
  auto withState = [&](ScheduleDiagonal diagonal, llvm::StringRef name, double pairs) {
    stream << "    " << (usesState && schedule.diagonal == diagonal ? "* " : "  ")
           << llvm::formatv("{0,-27} {1} = {2} + {3} in the block\n", name,
                            number(costs.state + pairs), number(costs.state), number(pairs));
  };
  stream << "    multiply-adds per position and head, without the maps:\n";
  if (shape.hasFeatures) {
    withState(ScheduleDiagonal::Scores, "state, pairs by scores", costs.diagonalByScores);
    if (shape.isOrdered && !shape.localBlock)
      withState(ScheduleDiagonal::Features, "state, pairs by features", costs.diagonalByFeatures);
  }
  if (!shape.needsState)
    stream << "    " << (usesState && schedule.form != ScheduleForm::Both ? "  " : "* ")
           << llvm::formatv("{0,-27} {1:f1} T\n", "quadratic", costs.quadraticPerPosition);
  if (!shape.hasScoreForm || !shape.hasFeatures)
    return;
  stream << llvm::format("    relative error of a row in f32: %.1e from a state, %.1e from scores",
                         shape.errors.state, shape.errors.scores);
  if (shape.wantsScores())
    stream << llvm::format("; beyond %.0e scores are chosen where they can be", kPromisedError);
  stream << '\n';
}

static void explainAttend(llvm::raw_ostream &stream, AttendOp attend) {
  Schedule schedule = scheduleOf(attend);
  AttentionShape shape = AttentionShape::of(attend, schedule);
  stream << "  attend";
  if (auto location = attend.getLoc()->findInstanceOf<mlir::FileLineColLoc>())
    stream << " in line " << location.getLine();
  stream << ", features " << mlir::cast<FeatureType>(attend.getKey().getType()).getStructure().str()
         << ": ";
  describe(stream, schedule);
  stream << '\n';
  compare(stream, shape, schedule);
}

void polyattn::explainChoices(llvm::raw_ostream &stream, const LaunchPlan &plan) {
  for (const LaunchChoice &choice : plan.choices) {
    if (choice.kind == LaunchExtent::Splits)
      stream << "  with more processors than heads a head is cut into at most " << choice.max
             << " splits by its features";
    else if (choice.kind == LaunchExtent::Segments)
      stream << "  with more workers than heads a head is cut into S segments of multiples of "
             << choice.multiple << " positions; prefix states take " << choice.prefixCostPercent
             << "% of the work of a position";
    else
      stream << "  sums are added up in at most " << choice.max << " parts";
    if (choice.minPositions)
      stream << ", for no fewer than " << choice.minPositions << " positions";
    stream << "\n";
  }
}

/// Known only where the spec was lowered to the end.
static void explainStages(llvm::raw_ostream &stream, const KernelDescription &kernel) {
  auto nameOf = [&](int64_t tensor, int64_t dimension) {
    return sizeToString(kernel.tensors[tensor].sizes[dimension]);
  };
  for (const LaunchStage &stage : kernel.plan.stages) {
    stream << "  stage @" << stage.function << ": ";
    llvm::interleave(
        stage.programs, stream,
        [&](const LaunchExtent &extent) { stream << toString(extent, nameOf); }, " x ");
    stream << " program instances, " << stage.scratchBytes << " bytes of scratch per thread\n";
  }
  for (const LaunchWorkspace &workspace : kernel.plan.workspaces) {
    stream << "  workspace " << workspace.name << ": ";
    llvm::interleave(
        workspace.shape, stream,
        [&](const LaunchExtent &extent) { stream << toString(extent, nameOf); }, " x ");
    stream << "\n";
  }
  explainChoices(stream, kernel.plan);
}

void polyattn::explainEntry(llvm::raw_ostream &stream, const KernelDescription &kernel,
                            const LoweredModule &scheduled) {
  stream << "@" << kernel.entry << ":";
  if (kernel.featureDimension)
    stream << " " << *kernel.featureDimension << " features";
  if (kernel.degree)
    stream << " of degree " << *kernel.degree;
  if (!kernel.scoreForm.empty())
    stream << ", scores as " << kernel.scoreForm;
  stream << "\n";
  auto attention = mlir::ModuleOp(*scheduled.module).lookupSymbol<AttentionOp>(kernel.entry);
  for (AttendOp attend : attendsOf(attention))
    explainAttend(stream, attend);
}

llvm::Error polyattn::explain(llvm::raw_ostream &stream, const LoweredModule &module,
                              llvm::StringRef text, llvm::StringRef fileName,
                              const CompileOptions &options) {
  // Once more up to the schedules, which the lower levels do not have any more.
  llvm::Expected<LoweredModule> scheduled = parseSpec(text, fileName, options);
  if (!scheduled)
    return scheduled.takeError();
  if (llvm::Error error = lower(*scheduled, options, CPUPipelinePhase::Schedule))
    return error;
  const MachineDescription &machine = options.machine;
  stream << "machine: " << machine.name << " (" << machine.cpu << "), vectors of "
         << machine.vectorWidth << " f32 in " << machine.vectorRegisters << " registers, "
         << (machine.has(Instructions::AVX512BF16) ? "products of bf16 pairs, L1 " : "L1 ")
         << machine.l1Bytes / 1024 << " KiB, L2 " << machine.l2Bytes / 1024 << " KiB\n";
  for (const KernelDescription &kernel : module.kernels) {
    explainEntry(stream, kernel, *scheduled);
    explainStages(stream, kernel);
  }
  return llvm::Error::success();
}
