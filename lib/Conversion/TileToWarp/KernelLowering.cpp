//===- KernelLowering.cpp - the function and its parameters ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "dialects/Tile/EntryOf.h"
#include "lib/Conversion/ProgramIds.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// Offsets in the workspace are i32.
static constexpr int64_t kWorkspaceCapacity = int64_t(1) << 30;

KernelLowering::KernelLowering(KernelOp kernel, const TileToWarpOptions &options,
                               const MemoryPlan &plan)
    : kernel(kernel), options(options), plan(plan), residency(kernel, options.warps, plan),
      e(kernel.getLoc(), kernel.getContext()),
      shared(kAlignment, options.sharedBytes, plan.sharedOffsets),
      workspace(kAlignment, kWorkspaceCapacity) {}

/// The tensors that the kernel or the numbers of its programs depend on, of all that its entry has.
static SmallVector<unsigned> findUsedTensors(tile::KernelOp kernel) {
  auto countsPrograms = [&](unsigned tensor) {
    return llvm::any_of(kernel.getAxes(), [&](ExtentAttr axis) {
      return axis.isDimension() && axis.getTensor() == tensor;
    });
  };
  SmallVector<unsigned> used;
  for (unsigned i = 0; i < kernel.getNumTensors(); ++i)
    if (!kernel.getTensor(i).use_empty() || countsPrograms(i))
      used.push_back(i);
  return used;
}

LogicalResult KernelLowering::run(gpu::GPUModuleOp module) {
  usedTensors = findUsedTensors(kernel);
  createFunction(module);
  bindProgram();
  Operation *function = e.getInsertionBlock()->getParentOp();
  if (failed(lowerBlock(kernel.getBody().front())))
    return failure();
  barriers.finish(gpu::ReturnOp::create(e));
  workspaceBytes.setValueAttr(e.getI64IntegerAttr(workspace.bytes()));
  auto note = [&](StringRef name, int64_t value) {
    function->setAttr(name, e.getI64IntegerAttr(value));
  };
  if (kernel.getCluster())
    note(warp::kClusterAttrName, kernel.getClusterSize());
  note(warp::kThreadsAttrName, GPUDescription::warpSize * options.warps);
  note(warp::kSharedBytesAttrName, shared.bytes());
  note(warp::kWorkspaceBytesAttrName, workspace.bytes());
  function->setAttr(warp::kMemoryAttrName, describeMemory());
  return success();
}

void KernelLowering::createFunction(gpu::GPUModuleOp module) {
  auto pointer = LLVM::LLVMPointerType::get(e.getContext(), 1);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto parameter = [&](Type type, StringRef name, Attribute value) {
    types.push_back(type);
    attributes.push_back(e.getDictionaryAttr(e.getNamedAttr(name, value)));
  };
  auto reference = [&](int64_t tensor, int64_t dimension) {
    return e.getI64ArrayAttr({tensor, dimension});
  };
  for (unsigned i : usedTensors) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    parameter(pointer, warp::kPointerAttrName, e.getI64IntegerAttr(i));
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        parameter(e.getI64Type(), warp::kSizeAttrName, reference(i, d));
    for (int64_t d = 0; d + 1 < type.getRank(); ++d)
      parameter(e.getI64Type(), warp::kStrideAttrName, reference(i, d));
  }
  parameter(pointer, warp::kWorkspaceAttrName, e.getUnitAttr());
  parameter(pointer, warp::kProfileAttrName, e.getUnitAttr());

  e.setInsertionPointToEnd(module.getBody());
  auto function = gpu::GPUFuncOp::create(e, kernel.getSymName(), e.getFunctionType(types, {}),
                                         /*workgroupAttributions=*/{}, /*privateAttributions=*/{});
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), e.getUnitAttr());
  function.setAllArgAttrs(attributes);
  Block &entry = function.getBody().front();
  e.setInsertionPointToStart(&entry);

  unsigned next = 0;
  for (unsigned i : usedTensors) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    Tensor &tensor = tensors[kernel.getTensor(i)];
    tensor.element = type.getElementType();
    tensor.base = entry.getArgument(next++);
    for (int64_t d = 0; d < type.getRank(); ++d)
      tensor.sizes.push_back(type.isDynamicDim(d) ? entry.getArgument(next++)
                                                  : e.i64(type.getDimSize(d)));
    for (int64_t d = 0; d + 1 < type.getRank(); ++d)
      tensor.strides.push_back(entry.getArgument(next++));
    if (type.getRank())
      tensor.strides.push_back(e.i64(1));
  }
  workspacePointer = entry.getArgument(next);
  testAlignment();
}

// One answer for all sequences and one for all weights: an answer for each tensor would be a
// register for each. Tensors whose rows are no multiple of 16 bytes are not asked about.
void KernelLowering::testAlignment() {
  Value bits[2] = {e.i64(0), e.i64(0)};
  auto isWeight = [](MemRefType type) { return type.getRank() != 4; };
  auto hasWholeRows = [](MemRefType type) {
    return type.getRank() && !type.isDynamicDim(type.getRank() - 1) &&
           type.getShape().back() * type.getElementTypeBitWidth() % 128 == 0;
  };
  for (unsigned i : usedTensors) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    const Tensor &tensor = tensors[kernel.getTensor(i)];
    if (!hasWholeRows(type))
      continue;
    Value &all = bits[isWeight(type)];
    auto join = [&](Value number) { all = arith::OrIOp::create(e, all, number); };
    join(LLVM::PtrToIntOp::create(e, e.getI64Type(), tensor.base));
    for (Value stride : ValueRange(tensor.strides).drop_back())
      join(arith::MulIOp::create(e, stride, e.i64(type.getElementTypeBitWidth() / 8)));
  }
  Value aligned[2];
  for (int i = 0; i < 2; ++i) {
    Value rest = arith::AndIOp::create(e, bits[i], e.i64(15));
    aligned[i] = arith::CmpIOp::create(e, arith::CmpIPredicate::eq, rest, e.i64(0));
  }
  for (unsigned i : usedTensors) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    if (hasWholeRows(type))
      tensors[kernel.getTensor(i)].aligned = aligned[isWeight(type)];
  }
}

void KernelLowering::bindProgram() {
  firstLane = warp::LaneIdOp::create(e);
  warp = warp::WarpIdOp::create(e);
  Value program = warp::ProgramIdOp::create(e);
  Value part = program;
  if (kernel.getCluster()) {
    clusterRank = warp::ClusterRankOp::create(e);
    part = e.add(e.multiply(program, kernel.getClusterSize()), clusterRank);
  }
  workspaceBytes = cast<arith::ConstantOp>(e.i64(0).getDefiningOp());
  Value own = arith::MulIOp::create(e, e.toI64(part), workspaceBytes);
  workspacePointer = LLVM::GEPOp::create(e, workspacePointer.getType(), e.getI8Type(),
                                         workspacePointer, ArrayRef<LLVM::GEPArg>{own});
  describePrograms();
  SmallVector<ExtentAttr> axes = kernel.getAxes();
  SmallVector<Value> sizes;
  for (ExtentAttr axis : ArrayRef(axes).drop_front(axes.empty() ? 0 : 1))
    sizes.push_back(axis.isNumber() ? Value(e.i32(axis.getPlus())) : narrowSize(axis));
  coordinates = coordinatesOf(e, program, axes.size(), sizes);
}

/// A size that counts programs, of which a launch has less than 2^31.
Value KernelLowering::narrowSize(ExtentAttr size) {
  const Tensor &tensor = tensors[kernel.getTensor(size.getTensor())];
  return arith::TruncIOp::create(e, e.getI32Type(), tensor.sizes[size.getDimension()]);
}

// What a launcher must know of a kernel that no entry launches: one that makes no choices.
void KernelLowering::describePrograms() {
  if (tile::entryOf(kernel->getParentOfType<ModuleOp>(), kernel.getSymName()))
    return;
  SmallVector<Attribute> sizes;
  for (ExtentAttr axis : kernel.getAxes())
    if (axis.isNumber())
      sizes.push_back(e.getI64IntegerAttr(axis.getPlus()));
    else if (axis.isDimension())
      sizes.push_back(e.getI64ArrayAttr({axis.getTensor(), axis.getDimension()}));
  e.getInsertionBlock()->getParentOp()->setAttr(warp::kProgramsAttrName, e.getArrayAttr(sizes));
}

//===----------------------------------------------------------------------===//
// Numbers of programs and heads
//===----------------------------------------------------------------------===//

static Value indexOf(Emitter &e, Value number) {
  return arith::IndexCastOp::create(e, e.getIndexType(), number);
}

void KernelLowering::lowerProgramId(ProgramIdOp id) {
  Value number = coordinates[id.getAxis()];
  // What a launch chooses is asked for before the blocks and after them: no phase has to keep it.
  if (kernel.getAxes()[id.getAxis()].isChoice())
    return mapping.map(id.getNumber(), indexOf(e, number));
  bindNarrow(id.getNumber(), number, /*dependsOnProgram=*/true);
}

/// Binds an index that has 32 bits.
void KernelLowering::bindNarrow(Value index, Value number, bool dependsOnProgram) {
  narrowNumbers[index] = number;
  mapping.map(index, indexOf(e, number));
  if (dependsOnProgram)
    programIndices.emplace_back(index, number);
}

/// The index in 32 bits where it is a coordinate of programs, or one of their sizes; else null.
Value KernelLowering::narrow(Value index) {
  if (Value known = narrowNumbers.lookup(index))
    return known;
  auto dim = index.getDefiningOp<memref::DimOp>();
  if (!dim)
    return {};
  for (ExtentAttr axis : kernel.getAxes())
    if (axis.isDimension() && kernel.getTensor(axis.getTensor()) == dim.getSource() &&
        axis.getDimension() == dim.getConstantIndex())
      return narrowSize(axis);
  return {};
}

/// A division of 64 bits takes a hundred instructions: numbers of programs and heads are divided
/// as the 32 bits that they have. Nothing divides them that is larger than they are.
template <typename Division> LogicalResult KernelLowering::lowerDivision(Division op) {
  Value dividend = narrow(op.getLhs());
  if (!dividend || op->getBlock() != &kernel.getBody().front()) {
    e.clone(*op, mapping);
    return success();
  }
  Value divisor = narrow(op.getRhs());
  if (!divisor)
    divisor = toI32(op.getRhs());
  bool dependsOnProgram =
      llvm::any_of(programIndices, [&](const auto &entry) { return entry.first == op.getLhs(); });
  bindNarrow(op.getResult(), Division::create(e, dividend, divisor), dependsOnProgram);
  return success();
}

LogicalResult KernelLowering::lowerQuotient(arith::DivUIOp op) { return lowerDivision(op); }
LogicalResult KernelLowering::lowerRemainder(arith::RemUIOp op) { return lowerDivision(op); }

void KernelLowering::bindProgramIndices(bool opaque) {
  for (auto [value, number] : programIndices) {
    Value index = opaque ? warp::OpaqueOp::create(e, number).getResult() : number;
    mapping.map(value, indexOf(e, index));
  }
}
