//===- FromModule.cpp - plans of entries in a module ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Launch/FromModule.h"
#include "dialects/Tile/EntryOf.h"
#include "dialects/Tile/LaunchLimits.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace polyattn;

static LaunchExtent extentOf(tile::ExtentAttr extent) {
  static_assert(int(tile::ExtentBase::Parts) == LaunchExtent::Parts &&
                int(tile::ExtentBase::Segments) == LaunchExtent::Segments);
  return {LaunchExtent::Base(extent.getBase()),
          extent.getTensor(),
          extent.getDimension(),
          extent.getPlus(),
          extent.getDivisor(),
          extent.getTimes()};
}

static std::vector<LaunchExtent> extentsOf(ArrayAttr extents) {
  std::vector<LaunchExtent> list;
  for (auto extent : extents.getAsRange<tile::ExtentAttr>())
    list.push_back(extentOf(extent));
  return list;
}

static LaunchWorkspace workspaceOf(tile::WorkspaceOp op) {
  static_assert(int(tile::WorkspaceFill::Launch) == LaunchWorkspace::Launch &&
                int(tile::WorkspaceFill::Program) == LaunchWorkspace::Program);
  // The verifier lets f32, bf16, f16, i32 and i64 pass, whose names are ours.
  std::optional<ElementType> element = parseElementType(debugString(op.getElement()));
  return {op.getWorkspace().str(), *element, LaunchWorkspace::Fill(op.getFill()),
          extentsOf(op.getShape())};
}

/// Of all roles a launcher needs to know two: other stages are launched and counted alike.
static LaunchStage::Kind kindOf(tile::StageOp op) {
  if (op.getPerSplit())
    return LaunchStage::PerSplit;
  if (op.getChained())
    return LaunchStage::Chained;
  switch (op.getRole()) {
  case tile::StageRole::Combine:
    return LaunchStage::CombinesSplits;
  case tile::StageRole::SegmentSums:
    return LaunchStage::SumsSegments;
  default:
    return LaunchStage::Plain;
  }
}

static LaunchStage stageOf(tile::StageOp op, const LaunchPlan &plan) {
  LaunchStage stage;
  stage.function = op.getKernel().str();
  stage.programs = extentsOf(op.getPrograms());
  for (StringRef name : op.getUsedNames()) {
    auto found = llvm::find_if(
        plan.workspaces, [&](const LaunchWorkspace &workspace) { return workspace.name == name; });
    stage.workspaces.push_back(found - plan.workspaces.begin());
  }
  stage.kind = kindOf(op);
  return stage;
}

static LaunchChoice choiceOf(tile::ChooseOp op) {
  LaunchChoice choice;
  choice.kind = LaunchExtent::Base(op.getKind());
  choice.of = extentOf(op.getOf());
  for (const tile::ChoiceField &field : tile::kChoiceFields)
    if (auto number = op->getAttrOfType<IntegerAttr>(field.name))
      choice.*LaunchChoice::field(field.name) = number.getInt();
  return choice;
}

static tile::EntryOp findEntry(ModuleOp module, StringRef name) {
  for (auto entry : module.getOps<tile::EntryOp>())
    if (entry.getEntry() == name)
      return entry;
  return nullptr;
}

std::string polyattn::entryLaunching(ModuleOp module, StringRef kernel) {
  tile::EntryOp entry = tile::entryOf(module, kernel);
  return entry ? entry.getEntry().str() : kernel.str();
}

bool polyattn::hasPlan(ModuleOp module, StringRef name) { return bool(findEntry(module, name)); }

llvm::Expected<LaunchPlan> polyattn::planOf(ModuleOp module, StringRef name) {
  if (tile::EntryOp entry = findEntry(module, name)) {
    LaunchPlan plan;
    for (auto workspace : entry.getBody().getOps<tile::WorkspaceOp>())
      plan.workspaces.push_back(workspaceOf(workspace));
    for (auto stage : entry.getBody().getOps<tile::StageOp>())
      plan.stages.push_back(stageOf(stage, plan));
    for (auto choice : entry.getBody().getOps<tile::ChooseOp>())
      plan.choices.push_back(choiceOf(choice));
    return plan;
  }
  return llvm::createStringError("@" + name + ": no tile.entry says how it is launched");
}
