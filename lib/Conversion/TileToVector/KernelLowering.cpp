//===- KernelLowering.cpp - the function around the programs -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/IR/Matchers.h"
#include "polyattn/Target/CPU.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

/// Vectors are read whole, also at the end of the last tile.
static constexpr int64_t kSlackBytes = 1024;

/// Whether a micro-kernel multiplies the operands, else an error.
template <typename Product>
static LogicalResult checkProduct(Product product, const MachineDescription &machine) {
  Type lhs = product.getLhs().getType().getElementType();
  Type rhs = product.getRhs().getType().getElementType();
  Precision precision = product.multipliesIn();
  if (findMicroKernel(precision, lhs, rhs, machine))
    return success();
  return product.emitError("no micro-kernel multiplies ")
         << lhs << " and " << rhs << " in " << stringifyPrecision(precision);
}

static LogicalResult checkOp(Operation *op, const MachineDescription &machine) {
  for (Type type : op->getResultTypes())
    if (auto tile = dyn_cast<TileType>(type);
        tile && tile.getElementType().getIntOrFloatBitWidth() == 16)
      return op->emitError("this lowering takes tiles of f32 or f64, not ")
             << tile.getElementType();
  if (auto dot = dyn_cast<DotOp>(op))
    return checkProduct(dot, machine);
  auto update = dyn_cast<AccumulateOp>(op);
  return update ? checkProduct(update, machine) : success();
}

LogicalResult KernelLowering::run(ModuleOp into) {
  auto check = [&](Operation *op) { return WalkResult(checkOp(op, e.machine)); };
  if (kernel.walk(check).wasInterrupted())
    return failure();
  module = into;
  auto pointer = LLVM::LLVMPointerType::get(e.getContext());
  e.setInsertionPoint(kernel);
  auto function = func::FuncOp::create(
      e, kernel.getSymName(),
      e.getFunctionType({pointer, e.getI64Type(), e.getI64Type(), pointer}, {}));
  // Pipelines insert other functions behind the kernel; the name is its own again once the
  // kernel is erased.
  Block *entry = function.addEntryBlock();
  e.setEntry(entry);
  e.setInsertionPointToStart(entry);
  scratchPointer = entry->getArgument(3);
  loadTensors(entry->getArgument(0));

  // What no program changes is computed once for all of them.
  Block &body = kernel.getBody().front();
  for (Operation &op : body) {
    if (!isHoistable(op))
      continue;
    hoisted.insert(&op);
    if (failed(lowerOp(op)))
      return failure();
  }

  auto programs = scf::ForOp::create(e, entry->getArgument(1), entry->getArgument(2), e.value(1));
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(programs.getBody());
    bindProgram(programs.getInductionVar());
    if (failed(lowerBlock(body)))
      return failure();
  }
  func::ReturnOp::create(e);
  function->setAttr("polyattn.instructions", e.getStringAttr(toText(e.machine.instructions)));
  function->setAttr("polyattn.scratch_bytes", e.getI64IntegerAttr(scratch.bytes() + kSlackBytes));
  return success();
}

// A descriptor is {void *allocated, void *aligned, i64 offset, i64 sizes[rank], i64 strides[rank]}.
void KernelLowering::loadTensors(Value pointers) {
  auto pointer = LLVM::LLVMPointerType::get(e.getContext());
  for (unsigned i = 0; i < kernel.getNumTensors(); ++i) {
    Value argument = kernel.getTensor(i);
    auto type = cast<MemRefType>(argument.getType());
    Value slot =
        LLVM::GEPOp::create(e, pointer, pointer, pointers, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    Value descriptor = LLVM::LoadOp::create(e, pointer, slot);
    auto word = [&](int64_t n) { return e.load(e.getI64Type(), descriptor, n); };
    Tensor tensor;
    tensor.element = type.getElementType();
    Value aligned = LLVM::LoadOp::create(
        e, pointer,
        LLVM::GEPOp::create(e, pointer, pointer, descriptor, ArrayRef<LLVM::GEPArg>{1}));
    tensor.base = e.pointer(aligned, word(2), tensor.element);
    int64_t rank = type.getRank();
    for (int64_t d = 0; d < rank; ++d) {
      tensor.sizes.push_back(type.isDynamicDim(d) ? Offset(word(3 + d))
                                                  : Offset(type.getDimSize(d)));
      tensor.strides.push_back(d == rank - 1 ? Offset(1) : Offset(word(3 + rank + d)));
    }
    tensors[argument] = tensor;
  }
}

void KernelLowering::bindProgram(Value program) {
  SmallVector<Offset> heads; // of queries, of keys
  Offset batches = 1;
  for (StringRef name : {"query_tensor", "key_tensor"})
    if (auto index = kernel->getAttrOfType<IntegerAttr>(name)) {
      const Tensor &tensor = tensors[kernel.getTensor(index.getInt())];
      heads.push_back(tensor.sizes[2]);
      batches = tensor.sizes[0];
    }
  for (unsigned i = 0; heads.size() < 2 && i < kernel.getNumTensors(); ++i)
    if (cast<MemRefType>(kernel.getTensor(i).getType()).getRank() == 4)
      heads.push_back(tensors[kernel.getTensor(i)].sizes[2]);
  heads.resize(2, heads.empty() ? Offset(1) : heads.front());
  // Without heads there are no programs, but divisions by what is said of them come first.
  Value h = e.value(e.max(heads[0], 1)), keys = e.value(e.max(heads[1], 1));
  auto divide = [&](Value a, Value b) -> Value { return arith::DivUIOp::create(e, a, b); };
  auto modulo = [&](Value a, Value b) -> Value { return arith::RemUIOp::create(e, a, b); };
  if (Value segment = kernel.getSegment()) {
    Value perSegment = arith::MulIOp::create(e, e.value(e.max(batches, 1)), h);
    mapping.map(segment, e.toIndex(divide(program, perSegment)));
    program = modulo(program, perSegment);
  }
  Value batch = divide(program, h), head = modulo(program, h);
  Value group = e.value(e.max(divide(h, keys), 1));
  bool interleaved = kernel.isInterleaved();
  Value kvHead = interleaved ? modulo(head, keys) : divide(head, group);
  mapping.map(kernel.getBatch(), e.toIndex(batch));
  mapping.map(kernel.getHead(), e.toIndex(head));
  mapping.map(kernel.getKvHead(), e.toIndex(kvHead));
  mapping.map(kernel.getGroup(), e.toIndex(group));
}

bool KernelLowering::isHoistable(Operation &op) {
  if (!isa<LoadOp, ConstantOp, ColumnOp, DotOp, MapOp, SliceOp, TransposeOp, SelectRowsOp,
           ConcatOp>(op))
    return false;
  auto known = [&](Value operand) {
    if (operand.getType().isIndex())
      return matchPattern(operand, m_Constant());
    if (isa<MemRefType>(operand.getType()))
      return true;
    return operand.getDefiningOp() && hoisted.contains(operand.getDefiningOp());
  };
  if (!llvm::all_of(op.getOperands(), known))
    return false;
  // A map may use scalars of the program.
  for (Region &region : op.getRegions())
    for (Operation &inner : region.front())
      for (Value operand : inner.getOperands())
        if (operand.getParentRegion() != &region && !matchPattern(operand, m_Constant()))
          return false;
  // What is computed at its user is not computed here.
  return op.getNumResults() != 1 || !fusion.isDeferred(op.getResult(0)) || isa<ConstantOp>(op);
}
