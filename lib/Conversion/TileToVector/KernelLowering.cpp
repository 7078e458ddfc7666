//===- KernelLowering.cpp - the function around the programs -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "dialects/Tile/Inputs.h"
#include "lib/Conversion/ProgramIds.h"
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
static LogicalResult checkProduct(Product product, bool lhsTransposed,
                                  const MachineDescription &machine) {
  TileType lhs = product.getLhs().getType(), rhs = product.getRhs().getType();
  Precision precision = product.multipliesIn();
  if (findMicroKernel(precision, lhs, lhsTransposed, rhs, machine))
    return success();
  return product.emitError("no micro-kernel multiplies ")
         << lhs << (lhsTransposed ? ", transposed, and " : " and ") << rhs << " in "
         << stringifyPrecision(precision);
}

/// Tiles of 16 bits are made by packs, cut to windows and multiplied.
static LogicalResult checkTypes(Operation *op, const MachineDescription &machine) {
  bool isPack = isa<PackOp>(op);
  auto is16Bits = [](Type type) {
    auto tile = dyn_cast<TileType>(type);
    return tile && tile.getElementType().getIntOrFloatBitWidth() == 16;
  };
  if (isPack && !machine.has(Instructions::AVX512BF16))
    return op->emitError("needs instructions for bf16, which the machine lacks");
  for (Type type : op->getResultTypes())
    if (is16Bits(type) && !isPack && !isa<SliceOp>(op))
      return op->emitError("this lowering takes tiles of f32 or f64, not ")
             << cast<TileType>(type).getElementType();
  if (llvm::any_of(op->getOperandTypes(), is16Bits) && !isa<SliceOp, DotOp, AccumulateOp>(op))
    return op->emitError("this lowering reads tiles of 16 bits in products and windows only");
  auto isOdd = [](Type type) {
    auto tile = cast<TileType>(type);
    return tile.getLayout() == Layout::Rows && tile.getColumns() % 2 != 0;
  };
  if (isPack && llvm::any_of(op->getResultTypes(), isOdd))
    return op->emitError("this lowering packs rows of an even length, not ")
           << op->getOperand(0).getType();
  return success();
}

static LogicalResult checkOp(Operation *op, const MachineDescription &machine) {
  if (failed(checkTypes(op, machine)))
    return failure();
  if (auto dot = dyn_cast<DotOp>(op))
    return checkProduct(dot, dot.getLhsTransposed(), machine);
  auto update = dyn_cast<AccumulateOp>(op);
  return update ? checkProduct(update, /*lhsTransposed=*/false, machine) : success();
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
  function->setAttr(tile::kScratchBytesAttrName,
                    e.getI64IntegerAttr(scratch.bytes() + kSlackBytes));
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
  SmallVector<ExtentAttr> axes = kernel.getAxes();
  SmallVector<Value> sizes;
  for (ExtentAttr axis : llvm::reverse(ArrayRef(axes).drop_front(axes.empty() ? 0 : 1))) {
    Offset size = axis.isNumber()
                      ? Offset(axis.getPlus())
                      : tensors[kernel.getTensor(axis.getTensor())].sizes[axis.getDimension()];
    // A call without heads has no programs, but divisions come before the loop over them.
    sizes.push_back(e.value(e.max(size, 1)));
  }
  std::reverse(sizes.begin(), sizes.end());
  for (Value number : coordinatesOf(e, program, axes.size(), sizes))
    programIds.push_back(e.toIndex(number));
}

bool KernelLowering::isHoistable(Operation &op) {
  if (!isa<LoadOp, ConstantOp, ConstantColumnOp, DotOp, MapOp, SliceOp, TransposeOp, SelectRowsOp,
           ConcatOp, PackOp>(op))
    return false;
  if (auto load = dyn_cast<LoadOp>(op); load && !isOnlyRead(load.getMemref()))
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
