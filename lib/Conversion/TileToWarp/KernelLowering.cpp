//===- KernelLowering.cpp - the function and its parameters ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// Offsets in the workspace are i32.
static constexpr int64_t kWorkspaceCapacity = int64_t(1) << 30;

KernelLowering::KernelLowering(KernelOp kernel, const TileToWarpOptions &options,
                               const MemoryPlan &plan)
    : kernel(kernel), options(options), plan(plan), placement(kernel, options.warps, plan),
      e(kernel.getLoc(), kernel.getContext()), shared(kAlignment, options.sharedBytes, plan.sharedOffsets),
      workspace(kAlignment, kWorkspaceCapacity) {}

LogicalResult KernelLowering::run(gpu::GPUModuleOp module) {
  createFunction(module);
  bindProgram();
  Operation *function = e.getInsertionBlock()->getParentOp();
  if (failed(lowerBlock(kernel.getBody().front())))
    return failure();
  gpu::ReturnOp::create(e);
  barriers.finish();
  workspaceBytes.setValueAttr(e.getI64IntegerAttr(workspace.bytes()));
  auto note = [&](StringRef name, int64_t value) {
    function->setAttr(name, e.getI64IntegerAttr(value));
  };
  if (kernel.getCluster())
    note("warp.cluster", kernel.getClusterSize());
  note("warp.threads", GPUDescription::warpSize * options.warps);
  note("warp.shared_bytes", shared.bytes());
  note("warp.workspace_bytes", workspace.bytes());
  function->setAttr("warp.memory", describeMemory());
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
  for (unsigned i = 0; i < kernel.getNumTensors(); ++i) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    parameter(pointer, "warp.pointer", e.getI64IntegerAttr(i));
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        parameter(e.getI64Type(), "warp.size", reference(i, d));
    for (int64_t d = 0; d + 1 < type.getRank(); ++d)
      parameter(e.getI64Type(), "warp.stride", reference(i, d));
  }
  parameter(pointer, "warp.workspace", e.getUnitAttr());
  parameter(pointer, "warp.profile", e.getUnitAttr());

  e.setInsertionPointToEnd(module.getBody());
  auto function = gpu::GPUFuncOp::create(e, kernel.getSymName(), e.getFunctionType(types, {}),
                                         /*workgroupAttributions=*/{}, /*privateAttributions=*/{});
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), e.getUnitAttr());
  function.setAllArgAttrs(attributes);
  Block &entry = function.getBody().front();
  e.setInsertionPointToStart(&entry);

  unsigned next = 0;
  for (unsigned i = 0; i < kernel.getNumTensors(); ++i) {
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
  for (unsigned i = 0; i < kernel.getNumTensors(); ++i) {
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
  for (unsigned i = 0; i < kernel.getNumTensors(); ++i) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    if (hasWholeRows(type))
      tensors[kernel.getTensor(i)].aligned = aligned[isWeight(type)];
  }
}

// As for the CPU: program p is batch p / H and head p % H. Where positions are cut, these are the
// programs of the first segment, and those of the next ones follow.
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

  auto query = kernel->getAttrOfType<IntegerAttr>("query_tensor");
  auto key = kernel->getAttrOfType<IntegerAttr>("key_tensor");
  int64_t queryTensor = query ? query.getInt() : 0, keyTensor = key ? key.getInt() : queryTensor;
  describePrograms(queryTensor);
  auto narrow = [&](Value size) -> Value {
    return arith::TruncIOp::create(e, e.getI32Type(), size);
  };
  Value heads = narrow(tensors[kernel.getTensor(queryTensor)].sizes[2]);
  Value keyHeads = narrow(tensors[kernel.getTensor(keyTensor)].sizes[2]);
  auto divide = [&](Value a, Value b) -> Value { return arith::DivUIOp::create(e, a, b); };
  auto modulo = [&](Value a, Value b) -> Value { return arith::RemUIOp::create(e, a, b); };
  Value segment;
  if (kernel.getSegments()) {
    Value batches = narrow(tensors[kernel.getTensor(queryTensor)].sizes[0]);
    Value perSegment = arith::MulIOp::create(e, batches, heads);
    segment = divide(program, perSegment);
    program = modulo(program, perSegment);
  }
  Value batch = divide(program, heads), head = modulo(program, heads);
  Value group = divide(heads, keyHeads);
  bool interleaved = kernel.isInterleaved();
  Value kvHead = interleaved ? modulo(head, keyHeads) : divide(head, group);
  programIndices = {
      {kernel.getBatch(), batch}, {kernel.getHead(), head}, {kernel.getKvHead(), kvHead}};
  auto bind = [&](Value argument, Value number) {
    mapping.map(argument, arith::IndexCastOp::create(e, e.getIndexType(), number).getResult());
  };
  bind(kernel.getGroup(), group);
  // Asked for before the blocks and after them: no phase has to keep it.
  if (segment)
    bind(kernel.getSegment(), segment);
  bindProgramIndices(/*opaque=*/false);
}

/// Whether a `tile.entry` says how a kernel is launched.
static bool isLaunched(tile::KernelOp kernel) {
  for (auto entry : kernel->getParentOfType<ModuleOp>().getOps<tile::EntryOp>())
    for (auto stage : entry.getBody().getOps<tile::StageOp>())
      if (stage.getKernel() == kernel.getSymName())
        return true;
  return false;
}

// What a launcher must know of a kernel that no entry launches.
void KernelLowering::describePrograms(int64_t queryTensor) {
  if (!isLaunched(kernel))
    e.getInsertionBlock()->getParentOp()->setAttr(
        "warp.programs",
        e.getArrayAttr({e.getI64ArrayAttr({queryTensor, 0}), e.getI64ArrayAttr({queryTensor, 2})}));
}

void KernelLowering::bindProgramIndices(bool opaque) {
  for (auto [argument, number] : programIndices) {
    Value index = opaque ? warp::OpaqueOp::create(e, number).getResult() : number;
    mapping.map(argument, arith::IndexCastOp::create(e, e.getIndexType(), index).getResult());
  }
}
