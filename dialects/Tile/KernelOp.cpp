//===- KernelOp.cpp - kernels, and the rows of buffers in them ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Inputs.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// Rows of buffers are values of the moment
//===----------------------------------------------------------------------===//

/// Whether two ranges of rows, from indices on, may have a row in common.
static bool mayOverlap(Value row, int64_t rows, Value other, int64_t otherRows) {
  std::optional<int64_t> a = getConstantIntValue(row), b = getConstantIntValue(other);
  return !a || !b || (*a < *b + otherRows && *b < *a + rows);
}

/// Whether an op writes rows that `read` may have read.
static bool writesRowsOf(ReadOp read, Operation *op) {
  int64_t rows = read.getResult().getType().getRows();
  if (auto write = dyn_cast<WriteOp>(op))
    return write.getBuffer() == read.getBuffer() &&
           mayOverlap(read.getRow(), rows, write.getRow(), write.getTile().getType().getRows());
  auto update = dyn_cast<AccumulateOp>(op);
  return update && update.getBuffer() == read.getBuffer() &&
         mayOverlap(read.getRow(), rows, update.getRow(), update.getLhs().getType().getRows());
}

/// Whether `write` may run after `read` and before `use`, which `read` dominates.
static bool mayRunBetween(Operation *read, Operation *write, Operation *use) {
  Operation *nearWrite = read->getBlock()->findAncestorOpInBlock(*write);
  if (!nearWrite || !read->isBeforeInBlock(nearWrite))
    return false;
  // The ops of one block around both, from the outermost on: in a loop that uses the value in each
  // iteration a write stands before the use of the next one, wherever it is.
  Operation *nearUse = read->getBlock()->findAncestorOpInBlock(*use);
  while (nearWrite == nearUse && nearUse != use && nearWrite != write) {
    if (isa<LoopLikeOpInterface>(nearUse))
      return true;
    Block *block = nullptr;
    for (Region &region : nearUse->getRegions())
      for (Block &inside : region)
        if (inside.findAncestorOpInBlock(*write) && inside.findAncestorOpInBlock(*use))
          block = &inside;
    if (!block)
      return false;
    nearWrite = block->findAncestorOpInBlock(*write);
    nearUse = block->findAncestorOpInBlock(*use);
  }
  return nearWrite != nearUse && nearWrite->isBeforeInBlock(nearUse);
}

/// What uses the rows themselves: the users of the value, and of views of it.
static void collectUsers(Value rows, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : rows.getUsers()) {
    users.push_back(user);
    if (isa<SliceOp, TransposeOp, SelectRowsOp, ToeplitzOp>(user))
      collectUsers(user->getResult(0), users);
  }
}

/// Lowerings read rows where they are used, so that no write may come before that.
static LogicalResult verifyMoment(ReadOp read) {
  SmallVector<Operation *> users;
  collectUsers(read.getResult(), users);
  for (Operation *write : read.getBuffer().getUsers()) {
    if (!writesRowsOf(read, write))
      continue;
    for (Operation *user : users)
      if (mayRunBetween(read, write, user)) {
        InFlightDiagnostic error =
            user->emitOpError("uses rows of a buffer that are written after they were read");
        error.attachNote(read.getLoc()) << "read here";
        error.attachNote(write->getLoc()) << "written here";
        return error;
      }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Value polyattn::tile::writtenTensor(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getMemref();
  if (auto recur = dyn_cast<RecurOp>(op))
    return recur.getKey() ? recur.getMemref() : Value();
  if (auto roots = dyn_cast<FourierRootsOp>(op))
    return roots.getRoots();
  if (auto transform = dyn_cast<FourierOp>(op))
    return transform.getMemref();
  auto product = dyn_cast<MultiplySpectraOp>(op);
  return product ? product.getY() : Value();
}

bool polyattn::tile::isInput(Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  return kernel && argument.getArgNumber() < kernel.getNumInputs();
}

bool polyattn::tile::isOnlyRead(Value memref) {
  return isInput(memref) || llvm::none_of(memref.getUsers(), [&](Operation *user) {
           return writtenTensor(user) == memref;
         });
}

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() != getNumTensors())
    return;
  for (auto [i, name] : llvm::enumerate(getArgNames().getAsValueRange<StringAttr>()))
    setName(getTensor(i), name);
}

/// A program's number can be taken apart.
static LogicalResult verifyGrid(KernelOp kernel) {
  SmallVector<ExtentAttr> axes = kernel.getAxes();
  for (auto [i, extent] : llvm::enumerate(axes)) {
    if (extent.getBase() == ExtentBase::Dimension) {
      auto type = uint64_t(extent.getTensor()) < kernel.getNumTensors()
                      ? cast<MemRefType>(kernel.getTensor(extent.getTensor()).getType())
                      : MemRefType();
      if (!type || extent.getDimension() < 0 || extent.getDimension() >= type.getRank())
        return kernel.emitOpError("has no size ") << extent << " that counts programs";
    }
    if (i > 0 && !extent.isNumber() && !extent.isDimension())
      return kernel.emitOpError("counts programs by ")
             << extent << ", which may be the first axis only";
  }
  return success();
}

/// The word for what an axis counts: sequences, heads, or what a launch chooses.
static StringRef axisName(ExtentAttr extent) {
  if (extent.isChoice())
    return stringifyExtentBase(extent.getBase()).drop_back(); // one of the segments
  if (extent.getBase() == ExtentBase::Number)
    return "program";
  return extent.getDimension() == 0 ? "batch" : extent.getDimension() == 2 ? "head" : "program";
}

void ProgramIdOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && getAxis() < kernel.getAxes().size())
    setName(getNumber(), axisName(kernel.getAxes()[getAxis()]));
}

LogicalResult KernelOp::verifyRegions() {
  Region &body = getBody();
  if (body.getNumArguments() != getNumTensors())
    return emitOpError("expected ")
           << getNumTensors() << " tensors, got " << body.getNumArguments() << " arguments";
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (!isa<MemRefType>(argument.getType()))
      return emitOpError("argument ") << i << " has the wrong kind of type";
  if (failed(verifyGrid(*this)))
    return failure();
  int64_t cluster = getClusterSize();
  if (getCluster() && (cluster < 2 || cluster > 8 || !llvm::isPowerOf2_64(cluster)))
    return emitOpError("a cluster has 2, 4 or 8 programs, not ") << cluster;
  WalkResult ops = walk([&](Operation *op) -> WalkResult {
    if (Value written = writtenTensor(op); written && isInput(written))
      return op->emitOpError(isa<StoreOp>(op) ? "stores to an input" : "updates an input");
    if (isa<ClusterRankOp, ClusterSumOp>(op) && !getCluster())
      return op->emitOpError("belongs into a kernel with `cluster`");
    if (auto id = dyn_cast<ProgramIdOp>(op); id && id.getAxis() >= getPrograms().size())
      return op->emitOpError("the kernel's programs have ")
             << getPrograms().size() << " axes, and none of number " << int64_t(id.getAxis());
    if (auto read = dyn_cast<ReadOp>(op); read && failed(verifyMoment(read)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(ops.wasInterrupted());
}
