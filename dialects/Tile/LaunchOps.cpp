//===- LaunchOps.cpp - verification of launches ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/LaunchLimits.h"
#include "dialects/Tile/Tile.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace polyattn::tile;

WorkspaceOp EntryOp::getWorkspace(StringRef name) {
  for (auto workspace : getBody().getOps<WorkspaceOp>())
    if (workspace.getWorkspace() == name)
      return workspace;
  return nullptr;
}

ChooseOp EntryOp::getChoice(ExtentBase kind) {
  for (auto choice : getBody().getOps<ChooseOp>())
    if (choice.getKind() == kind)
      return choice;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

static LogicalResult verifyNumbers(Operation *op, ExtentAttr extent) {
  if (areInLimits(extent.isNumber(), extent.getPlus(), extent.getDivisor(), extent.getTimes()) &&
      extent.getTensor() >= 0 && extent.getDimension() >= 0)
    return success();
  return op->emitOpError("C4: the numbers of an extent are from 0 to 2^40, and what it is divided "
                         "by is at least 1; got ")
         << extent;
}

/// The names in an extent are known to the entry, whose choices come without others.
static LogicalResult verifyNames(EntryOp entry, Operation *op, ExtentAttr extent) {
  if (extent.getBase() == ExtentBase::Dimension &&
      uint64_t(extent.getTensor()) >= entry.getTensors())
    return op->emitOpError("C3: the entry has ")
           << entry.getTensors() << " tensors, and no tensor " << extent.getTensor();
  if (!extent.isChoice())
    return success();
  StringRef name = stringifyExtentBase(extent.getBase());
  if (isa<ChooseOp>(op))
    return op->emitOpError("C3: a choice depends on no other, ") << name << " here";
  if (!entry.getChoice(extent.getBase()))
    return op->emitOpError("C3: there is no choice of ") << name << " in this entry";
  return success();
}

static LogicalResult verifyExtents(Operation *op, ArrayAttr extents) {
  for (auto extent : extents.getAsRange<ExtentAttr>())
    if (failed(verifyNumbers(op, extent)))
      return failure();
  return success();
}

LogicalResult WorkspaceOp::verify() {
  if (failed(verifyExtents(*this, getShape())))
    return failure();
  Type element = getElement();
  bool isFloat = element.isF32() || element.isBF16() || element.isF16();
  if (!isFloat && !element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return emitOpError("C4: a workspace holds f32, bf16, f16, i32 or i64, not ") << element;
  if (int64_t(getShape().size()) > kMostDimensions)
    return emitOpError("C4: a workspace has at most ") << kMostDimensions << " dimensions";
  int64_t elements = 1;
  for (auto extent : getShape().getAsRange<ExtentAttr>())
    addDimension(elements, extent.isNumber() ? extent.getPlus() : extent.getTimes());
  if (elements > kMostElements)
    return emitOpError("C4: a workspace has at most 2^40 elements");
  auto extents = getShape().getAsRange<ExtentAttr>();
  bool isLaunch = element.isInteger(64) && getShape().size() == 1 &&
                  (*extents.begin()).isNumber() && (*extents.begin()).getPlus() == kLaunchNumbers;
  if (getFill() == WorkspaceFill::Launch && !isLaunch)
    return emitOpError("C4: the numbers of a launch are i64 [4]");
  if (getFill() == WorkspaceFill::Program && getShape().size() < 2)
    return emitOpError("C4: a workspace of programs has two or more dimensions");
  return success();
}

SmallVector<StringRef> StageOp::getUsedNames() {
  SmallVector<StringRef> names;
  if (std::optional<ArrayAttr> uses = getUses())
    for (auto used : uses->getAsRange<FlatSymbolRefAttr>())
      names.push_back(used.getValue());
  return names;
}

bool StageOp::isCountedBy(ExtentBase choice) {
  return llvm::any_of(getPrograms().getAsRange<ExtentAttr>(),
                      [&](ExtentAttr extent) { return extent.getBase() == choice; });
}

LogicalResult StageOp::verify() {
  if (int64_t(getPrograms().size()) > kMostExtents)
    return emitOpError("C4: programs are counted by at most ") << kMostExtents << " extents";
  if (getPerSplit() + combinesSplits() + getChained() > 1)
    return emitOpError("C4: a stage is per_split, is chained or combines splits, one of these");
  return verifyExtents(*this, getPrograms());
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

LogicalResult ChooseOp::verify() {
  if (getKind() <= ExtentBase::Dimension)
    return emitOpError("C4: a choice is of segments, splits or parts");
  for (const ChoiceField &field : kChoiceFields) {
    auto value = (*this)->getAttrOfType<IntegerAttr>(field.name);
    bool belongs = field.isOf(getKind());
    if (bool(value) != belongs)
      return emitOpError("C4: a choice of ")
             << stringifyExtentBase(getKind()) << (belongs ? " needs " : " has no ") << field.name;
    if (value && !field.limits.contains(value.getInt()))
      return emitOpError("C4: ") << field.name << " is from " << field.limits.least << " to "
                                 << field.limits.most << ", not " << value.getInt();
  }
  if (getKind() == ExtentBase::Segments && *getMultiple() < *getBlock())
    return emitOpError("C4: segments are multiples of whole blocks, and ")
           << *getMultiple() << " is less than one of " << *getBlock();
  return verifyNumbers(*this, getOf());
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Whether a stage of this role computes what a main stage after it needs, or calls that leave the
/// main stage nothing to do.
static bool comesBeforeMain(StageRole role) {
  return role > StageRole::Main && role < StageRole::Combine;
}

/// C7.
static LogicalResult verifyRoles(EntryOp entry) {
  auto stages = llvm::to_vector(entry.getBody().getOps<StageOp>());
  auto isMain = [](StageOp stage) { return stage.getRole() == StageRole::Main; };
  bool hasCut = false;
  for (auto [i, stage] : llvm::enumerate(stages)) {
    StringRef role = stringifyStageRole(stage.getRole());
    if (isMain(stage)) {
      if (stage.isCountedBy(ExtentBase::Segments) && std::exchange(hasCut, true))
        return stage.emitOpError("C7: one main stage of an entry has programs of segments");
    } else if (comesBeforeMain(stage.getRole())) {
      if (llvm::none_of(ArrayRef(stages).drop_front(i), isMain))
        return stage.emitOpError("C7: after a stage of role ") << role << " comes a main stage";
    } else if (llvm::none_of(ArrayRef(stages).take_front(i), isMain)) {
      return stage.emitOpError("C7: before a stage of role ") << role << " comes a main stage";
    }
  }
  return success();
}

/// C1 to C3 and C7, as far as the entry alone tells.
LogicalResult EntryOp::verifyRegions() {
  if (int64_t(getTensors()) < 1 || getTensors() > kMostTensors || getInputs() >= getTensors())
    return emitOpError("C4: an entry has at most ")
           << kMostTensors << " tensors, of which one is a result; got " << int64_t(getTensors())
           << " and " << int64_t(getInputs()) << " inputs";
  int64_t workspaces = llvm::range_size(getBody().getOps<WorkspaceOp>());
  if (workspaces > kMostWorkspaces)
    return emitOpError("C4: an entry has at most ")
           << kMostWorkspaces << " workspaces; got " << workspaces;
  llvm::StringSet<> names;
  bool hasStage = false;
  for (Operation &op : getBody().front()) {
    std::string name;
    SmallVector<ExtentAttr> extents;
    if (auto workspace = dyn_cast<WorkspaceOp>(op)) {
      name = ("workspace @" + workspace.getWorkspace()).str();
      extents = llvm::to_vector(workspace.getShape().getAsRange<ExtentAttr>());
    } else if (auto stage = dyn_cast<StageOp>(op)) {
      hasStage = true;
      name = ("stage @" + stage.getKernel()).str();
      extents = llvm::to_vector(stage.getPrograms().getAsRange<ExtentAttr>());
      for (StringRef used : stage.getUsedNames())
        if (!getWorkspace(used))
          return op.emitOpError("C2: there is no workspace @") << used << " in this entry";
      if ((stage.getPerSplit() || stage.combinesSplits()) && !getChoice(ExtentBase::Splits))
        return op.emitOpError("C3: there is no choice of splits in this entry");
    } else if (auto choice = dyn_cast<ChooseOp>(op)) {
      name = ("choice of " + stringifyExtentBase(choice.getKind())).str();
      extents.push_back(choice.getOf());
    } else {
      return op.emitOpError("C1: an entry has workspaces, stages and choices only");
    }
    if (!names.insert(name).second)
      return op.emitOpError("C1: this entry has a ") << name << " already";
    for (ExtentAttr extent : extents)
      if (failed(verifyNames(*this, &op, extent)))
        return failure();
  }
  if (getChoice(ExtentBase::Segments) && getChoice(ExtentBase::Splits))
    return emitOpError("C1: a head is cut by its positions or by its features, not by both");
  return hasStage ? verifyRoles(*this) : emitOpError("C1: there is no stage");
}

/// The kernel of that name in the module, or in a module of kernels in it.
static Operation *findKernel(Operation *module, StringRef name, SymbolTableCollection &tables) {
  auto symbol = StringAttr::get(module->getContext(), name);
  if (Operation *found = tables.lookupSymbolIn(module, symbol))
    return found;
  for (Operation &op : module->getRegion(0).front())
    if (op.hasTrait<OpTrait::SymbolTable>())
      if (Operation *found = tables.lookupSymbolIn(&op, symbol))
        return found;
  return nullptr;
}

/// C5 of one of the tensors that a kernel takes.
static LogicalResult verifyWorkspace(StageOp stage, KernelOp kernel, WorkspaceOp workspace,
                                     unsigned number) {
  auto type = cast<MemRefType>(kernel.getTensor(number).getType());
  auto extents = llvm::to_vector(workspace.getShape().getAsRange<ExtentAttr>());
  bool fits =
      type.getElementType() == workspace.getElement() && type.getRank() == int64_t(extents.size());
  for (auto [size, extent] : llvm::zip(type.getShape(), extents))
    fits &= ShapedType::isDynamic(size) || (extent.isNumber() && extent.getPlus() == size);
  if (fits)
    return success();
  return stage.emitOpError("C5: @") << kernel.getSymName() << " takes " << type
                                    << " for workspace @" << workspace.getWorkspace();
}

LogicalResult EntryOp::verifySymbolUses(SymbolTableCollection &tables) {
  for (auto stage : getBody().getOps<StageOp>()) {
    Operation *found = findKernel((*this)->getParentOp(), stage.getKernel(), tables);
    if (!found)
      return stage.emitOpError("C2: there is no kernel @") << stage.getKernel();
    auto kernel = dyn_cast<KernelOp>(found);
    if (!kernel)
      continue;
    if (kernel.getNumTensors() != getTensors() + stage.getUsedNames().size() ||
        kernel.getNumInputs() != getInputs())
      return stage.emitOpError("C5: @")
             << stage.getKernel() << " takes " << kernel.getNumTensors() << " tensors, "
             << int64_t(kernel.getNumInputs()) << " of them inputs, and the entry has "
             << getTensors() << " and " << getInputs() << " beside " << stage.getUsedNames().size()
             << " workspaces";
    for (auto [i, used] : llvm::enumerate(stage.getUsedNames()))
      if (failed(verifyWorkspace(stage, kernel, getWorkspace(used), getTensors() + i)))
        return failure();
    if (kernel.getPrograms() != stage.getPrograms())
      return stage.emitOpError("C6: @")
             << stage.getKernel() << " counts its programs by " << kernel.getPrograms();
  }
  return success();
}
