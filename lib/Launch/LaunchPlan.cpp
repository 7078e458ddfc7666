//===- LaunchPlan.cpp - what a plan may say -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Launch/LaunchPlan.h"
#include "dialects/Tile/LaunchLimits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace polyattn;
using llvm::createStringError;
using llvm::Error;
using tile::Limits;

static_assert(tile::kMostExtents == POLYATTN_RT_MAX_FACTORS &&
              tile::kMostDimensions == POLYATTN_MAX_RANK &&
              tile::kMostWorkspaces == POLYATTN_RT_MAX_WORKSPACES);
/// What targets fill in, and `tile.entry` does not say.
static constexpr Limits kScratchBytes = {0, tile::kMostElements}, kCTAs = {1, 8};

int64_t LaunchChoice::*LaunchChoice::field(llvm::StringRef name) {
  return llvm::StringSwitch<int64_t LaunchChoice::*>(name)
      .Case("block", &LaunchChoice::block)
      .Case("multiple", &LaunchChoice::multiple)
      .Case("min_positions", &LaunchChoice::minPositions)
      .Case("prefix_cost_percent", &LaunchChoice::prefixCostPercent)
      .Case("subsegments", &LaunchChoice::subsegments)
      .Case("max", &LaunchChoice::max)
      .Case("bytes", &LaunchChoice::bytes);
}

const LaunchChoice *LaunchPlan::find(LaunchExtent::Base kind) const {
  auto found =
      llvm::find_if(choices, [&](const LaunchChoice &choice) { return choice.kind == kind; });
  return found == choices.end() ? nullptr : &*found;
}

const LaunchStage *LaunchPlan::findStage(llvm::StringRef function) const {
  auto found =
      llvm::find_if(stages, [&](const LaunchStage &stage) { return stage.function == function; });
  return found == stages.end() ? nullptr : &*found;
}

std::string polyattn::toString(const LaunchExtent &extent,
                               llvm::function_ref<std::string(int64_t, int64_t)> nameOf) {
  if (extent.base == LaunchExtent::Number)
    return std::to_string(extent.plus);
  std::string text;
  if (extent.base == LaunchExtent::Dimension)
    text = nameOf ? nameOf(extent.tensor, extent.dimension)
                  : "size " + std::to_string(extent.dimension) + " of tensor " +
                        std::to_string(extent.tensor);
  else
    text = extent.base == LaunchExtent::Segments ? "S"
           : extent.base == LaunchExtent::Splits ? "splits"
                                                 : "parts";
  if (extent.plus)
    text = "(" + text + (extent.plus < 0 ? " - " : " + ") + std::to_string(std::abs(extent.plus)) +
           ")";
  if (extent.divisor != 1)
    text = "ceil(" + text + " / " + std::to_string(extent.divisor) + ")";
  return (extent.times != 1 ? std::to_string(extent.times) + " x " : "") + text;
}

//===----------------------------------------------------------------------===//
// What is wrong with a plan
//===----------------------------------------------------------------------===//

/// Whether a list of that length has a `number`-th element.
static bool isIndex(int64_t number, size_t length) {
  return number >= 0 && number < int64_t(length);
}

static std::string nameOfChoice(LaunchExtent::Base choice) {
  LaunchExtent extent;
  extent.base = choice;
  return toString(extent);
}

/// Checks an extent; that of a choice's `of` must not name a choice.
static Error verifyExtent(const LaunchPlan &plan, const LaunchExtent &extent, bool isOfChoice,
                          llvm::ArrayRef<int64_t> ranks, const llvm::Twine &where) {
  if (!tile::areInLimits(extent.base == LaunchExtent::Number, extent.plus, extent.divisor,
                         extent.times))
    return createStringError(where + ": a number of a size is out of range");
  if (extent.base == LaunchExtent::Number)
    return Error::success();
  if (extent.base == LaunchExtent::Dimension) {
    if (isIndex(extent.tensor, ranks.size()) && isIndex(extent.dimension, ranks[extent.tensor]))
      return Error::success();
    return createStringError(where + ": there is no dimension " + llvm::Twine(extent.dimension) +
                             " of tensor " + llvm::Twine(extent.tensor));
  }
  if (isOfChoice)
    return createStringError(where + ": a choice depends on no other");
  if (plan.find(extent.base))
    return Error::success();
  return createStringError(where + ": the plan does not choose " + nameOfChoice(extent.base));
}

static Error verifyWorkspace(const LaunchPlan &plan, const LaunchWorkspace &workspace,
                             llvm::ArrayRef<int64_t> ranks) {
  std::string where = "workspace '" + workspace.name + "'";
  if (int64_t(workspace.shape.size()) > tile::kMostDimensions)
    return createStringError(where + " has too many dimensions");
  int64_t elements = 1;
  for (const LaunchExtent &extent : workspace.shape) {
    if (Error error = verifyExtent(plan, extent, /*isOfChoice=*/false, ranks, where))
      return error;
    tile::addDimension(elements, extent.base == LaunchExtent::Number ? extent.plus : extent.times);
  }
  if (elements > tile::kMostElements)
    return createStringError(where + " has more than 2^40 elements");
  bool isLaunch = workspace.dtype == ElementType::I64 && workspace.shape.size() == 1 &&
                  workspace.shape[0].base == LaunchExtent::Number &&
                  workspace.shape[0].plus == tile::kLaunchNumbers;
  if (workspace.fill == LaunchWorkspace::Launch && !isLaunch)
    return createStringError(where + ": the numbers of a launch are i64 [4]");
  if (workspace.fill == LaunchWorkspace::Program && workspace.shape.size() < 2)
    return createStringError(where + ": a workspace of programs has two or more dimensions");
  return Error::success();
}

static Error verifyStage(const LaunchPlan &plan, const LaunchStage &stage,
                         llvm::ArrayRef<int64_t> ranks) {
  std::string where = "stage '" + stage.function + "'";
  if (stage.function.empty())
    return createStringError("a stage names no function");
  if (int64_t(stage.programs.size()) > tile::kMostExtents)
    return createStringError(where + " has too many sizes of programs");
  for (const LaunchExtent &extent : stage.programs)
    if (Error error = verifyExtent(plan, extent, /*isOfChoice=*/false, ranks, where))
      return error;
  for (int64_t workspace : stage.workspaces)
    if (!isIndex(workspace, plan.workspaces.size()))
      return createStringError(where + ": there is no workspace " + llvm::Twine(workspace));
  if (stage.workspaces.size() > plan.workspaces.size())
    return createStringError(where + " uses more workspaces than there are");
  bool splits = stage.kind == LaunchStage::PerSplit || stage.kind == LaunchStage::CombinesSplits;
  if (splits && !plan.find(LaunchExtent::Splits))
    return createStringError(where + ": the plan does not choose splits");
  if (!kScratchBytes.contains(stage.scratchBytes) || !kCTAs.contains(stage.cluster))
    return createStringError(where + ": scratch or cluster is out of range");
  return Error::success();
}

static Error verifyChoice(const LaunchPlan &plan, const LaunchChoice &choice,
                          llvm::ArrayRef<int64_t> ranks) {
  std::string where = "choice of " + nameOfChoice(choice.kind);
  if (Error error = verifyExtent(plan, choice.of, /*isOfChoice=*/true, ranks, where))
    return error;
  if (plan.find(choice.kind) != &choice)
    return createStringError(where + ": there is one already");
  if (choice.kind == LaunchExtent::Splits && plan.find(LaunchExtent::Segments))
    return createStringError(where + ": a head is cut by positions or by features, not by both");
  auto isGood = [&](const tile::ChoiceField &field) {
    return !field.isOf(choice.kind) ||
           field.limits.contains(choice.*LaunchChoice::field(field.name));
  };
  bool hasWholeBlocks = choice.kind != LaunchExtent::Segments || choice.multiple >= choice.block;
  if (hasWholeBlocks && llvm::all_of(tile::kChoiceFields, isGood))
    return Error::success();
  return createStringError(where + ": a number is out of range");
}

Error LaunchPlan::verify(llvm::ArrayRef<int64_t> ranks) const {
  if (stages.empty())
    return createStringError("the plan has no stage");
  if (int64_t(workspaces.size()) > tile::kMostWorkspaces)
    return createStringError("the plan has " + llvm::Twine(workspaces.size()) +
                             " workspaces, and there can be " + llvm::Twine(tile::kMostWorkspaces));
  for (const LaunchWorkspace &workspace : workspaces)
    if (Error error = verifyWorkspace(*this, workspace, ranks))
      return error;
  llvm::StringSet<> functions;
  for (const LaunchStage &stage : stages) {
    if (!functions.insert(stage.function).second)
      return createStringError("stage '" + stage.function + "': there is one already");
    if (Error error = verifyStage(*this, stage, ranks))
      return error;
  }
  for (const LaunchChoice &choice : choices)
    if (Error error = verifyChoice(*this, choice, ranks))
      return error;
  return Error::success();
}
