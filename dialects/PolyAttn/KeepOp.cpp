//===- KeepOp.cpp - rows that later calls read ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttentionClauses.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/Sides.h"

using namespace mlir;
using namespace polyattn;

KeepOp KeepOp::of(Value tensor) {
  for (Operation *user : tensor.getUsers())
    if (auto keep = dyn_cast<KeepOp>(user); keep && keep.getTensor() == tensor)
      return keep;
  return {};
}

std::optional<int64_t> KeepOp::ringWindowOf(AttendOp attend) {
  if (attend.getWindow())
    return int64_t(*attend.getWindow());
  if (attend.getSliding())
    return int64_t(*attend.getBlock()) + 1;
  return std::nullopt;
}

bool KeepOp::isRing() {
  return llvm::any_of(attendsOf((*this)->getParentOfType<AttentionOp>()),
                      [](AttendOp attend) { return ringWindowOf(attend).has_value(); });
}

/// [P, H, block, d] for [B, T, H, d], [P, H, block] for [B, T, H], of f32.
static bool canKeep(RankedTensorType pool, RankedTensorType tensor) {
  if (pool.getRank() != tensor.getRank() || (pool.getRank() != 3 && pool.getRank() != 4))
    return false;
  bool hasRows = pool.isDynamicDim(0) && pool.isDynamicDim(1) && pool.getDimSize(2) > 0 &&
                 llvm::all_of(tensor.getShape().take_front(3), ShapedType::isDynamic);
  bool sameWidth = pool.getShape().drop_front(3) == tensor.getShape().drop_front(3);
  return hasRows && sameWidth && pool.getElementType().isF32();
}

LogicalResult KeepOp::verify() {
  auto tensor = dyn_cast<BlockArgument>(getTensor()), pool = dyn_cast<BlockArgument>(getPool());
  if (!tensor || !pool || tensor == pool)
    return emitOpError("C1: expected a tensor and a pool, two arguments of the attention");
  if (!canKeep(cast<RankedTensorType>(pool.getType()), cast<RankedTensorType>(tensor.getType())))
    return emitOpError("C2: a pool ")
           << pool.getType() << " does not keep rows of " << tensor.getType()
           << ": expected f32 [P, H, block, d] for [B, T, H, d], [P, H, block] for a decay [B, T, "
              "H]";
  if (isRing() &&
      (cast<RankedTensorType>(pool.getType()).getRank() != 4 || getRows() % kRingBlock != 0))
    return emitOpError("C2: a ring has a multiple of ")
           << kRingBlock << " rows of a tensor [B, T, H, d], got " << pool.getType();
  if (!pool.hasOneUse())
    return emitOpError("C3: something else uses the pool, too");
  if (!llvm::all_of(getResult().getUsers(), llvm::IsaPred<ReturnOp>))
    return emitOpError("C3: only `return` uses rows that are kept");
  return success();
}

/// Whether a pool has the rows that an attend reads of calls before.
static LogicalResult verifyRows(AttendOp attend, KeepOp keep) {
  if (std::optional<int64_t> window = KeepOp::ringWindowOf(attend)) {
    int64_t rows = KeepOp::ringRows(*window);
    if (!keep.isRing() || keep.getRows() < rows)
      return keep.emitOpError("C10: a window of ")
             << int64_t(attend.getWindow() ? *attend.getWindow() : *attend.getBlock())
             << " positions needs a ring of at least " << rows << " rows, got "
             << keep.getPool().getType();
    return success();
  }
  if (!attend.getLocalQuery())
    return attend.emitOpError(
        "C10: where rows are kept every attend has local vectors or a window, "
        "and this one has none");
  if (!keep.isRing() && int64_t(*attend.getBlock()) == keep.getRows())
    return success();
  return keep.emitOpError("C10: keeps ")
         << keep.getRows() << " rows where a local block has " << int64_t(*attend.getBlock());
}

/// Tensors whose rows the keys of an attend need.
static SmallVector<BlockArgument> rowsOfKeys(AttendOp attend) {
  SmallVector<BlockArgument> tensors = sequencesOfKeys(attend);
  if (Value decay = attend.getDecay())
    if (cast<RankedTensorType>(decay.getType()).getRank() == 3)
      tensors.push_back(cast<BlockArgument>(decay));
  return tensors;
}

/// A state has no keys of a window that slides, and a call which goes on needs them.
static LogicalResult verifySlidingStates(AttentionOp op, bool hasRings) {
  for (AttendOp attend : attendsOf(op))
    if (attend.getSliding() && (attend.hasInitialState() || attend.getFinalState()) && !hasRings)
      return attend.emitOpError("C25: `sliding` has states in and out only where a ring keeps the "
                                "keys of the window for the next call: there is no `keep`");
  return success();
}

LogicalResult polyattn::verifyKept(AttentionOp op) {
  llvm::SmallMapVector<Value, KeepOp, 4> kept;
  for (KeepOp keep : op.getBody().getOps<KeepOp>()) {
    if (!op.getSlots() || !op.getFirstPosition())
      return keep.emitOpError("C10: rows are kept for calls with `slots` and `first_position`");
    if (!kept.insert({keep.getTensor(), keep}).second)
      return keep.emitOpError("C10: the tensor's rows are kept already");
    bool isPlaced = false;
    for (OpOperand &use : keep.getResult().getUses())
      isPlaced |= bool(op.getArgumentOfResult(use.getOperandNumber()));
    if (!isPlaced)
      return keep.emitOpError("C10: what is kept must be a result that lives in the pool");
  }
  if (failed(verifySlidingStates(op, /*hasRings=*/!kept.empty())))
    return failure();
  if (kept.empty())
    return success();
  llvm::SmallDenseSet<Value> needed;
  for (AttendOp attend : attendsOf(op)) {
    // What a state has taken in, no window needs.
    if (!attend.getWindow() && !attend.getLocalQuery() && kept.begin()->second.isRing())
      continue;
    if (failed(verifyRows(attend, kept.begin()->second)))
      return failure();
    if (std::string reason = attend.getWindow() ? noRingOf(attend) : ""; !reason.empty())
      return attend.emitOpError("C10: ") << reason;
    for (BlockArgument tensor : rowsOfKeys(attend)) {
      needed.insert(tensor);
      auto found = kept.find(tensor);
      if (found == kept.end())
        return attend.emitOpError("C10: its keys need the rows of argument ")
               << op.getArgNames()[tensor.getArgNumber()] << " kept";
      if (failed(verifyRows(attend, found->second)))
        return failure();
    }
  }
  for (auto [tensor, keep] : kept)
    if (!needed.contains(tensor))
      return keep.emitOpError(
          "C10: no key or value that rows are kept of is read from this tensor");
  return success();
}
