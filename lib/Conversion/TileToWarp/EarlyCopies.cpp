//===- EarlyCopies.cpp - copies that start before work ahead of them ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EarlyCopies.h"
#include "dialects/Tile/Inputs.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

EarlyCopies::EarlyCopies(KernelOp kernel, const ResidencyAnalysis &residency, MemoryUse use,
                         Fits fits)
    : kernel(kernel), residency(residency), use(std::move(use)), fits(fits) {}

/// Adds the arithmetic in the block of `op` that its numbers are computed with, operands first.
static void collectArithmetic(Operation *op, llvm::SetVector<Operation *> &arithmetic) {
  for (Value operand : op->getOperands()) {
    Operation *number = operand.getDefiningOp();
    if (!number || number->getBlock() != op->getBlock() ||
        !(isa<arith::ArithDialect>(number->getDialect()) || isa<memref::DimOp>(number)) ||
        arithmetic.contains(number))
      continue;
    collectArithmetic(number, arithmetic);
    arithmetic.insert(number);
  }
}

/// Whether an op takes its time where it stands: computes a tile, or writes memory.
bool EarlyCopies::isWork(Operation &op) const {
  if (isa<scf::ForOp, scf::IfOp, AccumulateOp, WriteOp, RecurOp>(op) || writtenTensor(&op))
    return true;
  return !isa<LoadOp>(op) && llvm::any_of(op.getResults(), [&](Value result) {
    return tileType(result) && residency.of(result) != Residency::Deferred;
  });
}

/// The first op of the block behind all that a load and its arithmetic need.
Operation *EarlyCopies::firstPlace(LoadOp load,
                                   const llvm::SetVector<Operation *> &arithmetic) const {
  Block *block = load->getBlock();
  Operation *first = &block->front();
  auto goBehind = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *number = operand.getDefiningOp(); number && number->getBlock() == block &&
                                                       !arithmetic.contains(number) &&
                                                       !number->isBeforeInBlock(first))
        first = number->getNextNode();
  };
  goBehind(load);
  for (Operation *op : arithmetic)
    goBehind(op);
  return first;
}

/// The first op from `place` on that takes its time, up to the load: copies for it start first.
Operation *EarlyCopies::behindCopies(Operation *place, LoadOp own) const {
  auto waits = [&](Operation *op) {
    auto load = use.loads.find(op);
    return isWork(*op) || (load != use.loads.end() && !load->second.isCopy);
  };
  while (place != own && (moved.contains(place) || !waits(place)))
    place = place->getNextNode();
  return place;
}

/// How long a load takes its memory where it stands before `place`; none where it would wait in
/// registers as well.
std::optional<Lifetime> EarlyCopies::lifetimeFrom(LoadOp load, Operation *place) const {
  const MemoryUse::Load &own = use.loads.find(load)->second;
  bool isNew = own.request < 0;
  Operation *end = isNew ? residency.lastUse(load.getResult()) : load.getOperation();
  bool isAhead = false;
  for (Operation *op = place; op != end && !isAhead; op = op->getNextNode())
    isAhead = isWork(*op);
  if (!isAhead)
    return std::nullopt;
  int64_t begin = use.moments.find(place)->second.before;
  if (!isNew)
    return Lifetime{own.bytes, begin, use.requests[own.request].end};
  auto last = use.moments.find(end);
  if (last == use.moments.end()) // it goes to the next iteration
    return std::nullopt;
  return Lifetime{own.bytes, begin, last->second.after};
}

bool EarlyCopies::hasRoom(LoadOp load, const Lifetime &lifetime) const {
  int64_t request = use.loads.find(load)->second.request;
  std::vector<Lifetime> all = use.requests;
  if (request < 0)
    all.push_back(lifetime);
  else
    all[request].begin = lifetime.begin;
  return fits(pack(all).bytes);
}

void EarlyCopies::moveBefore(Operation *op, Operation *place) {
  moves.emplace_back(op, op->getNextNode());
  moved.insert(op);
  op->moveBefore(place);
}

/// Where a load goes: the first place from which on there is room for it, null for none.
Operation *EarlyCopies::roomyPlace(LoadOp load,
                                   const llvm::SetVector<Operation *> &arithmetic) const {
  std::optional<int64_t> without; // the last moment from which there is no room
  for (Operation *place = firstPlace(load, arithmetic); place != load->getNextNode();
       place = place->getNextNode()) {
    auto moments = use.moments.find(place);
    if (moved.contains(place) || arithmetic.contains(place) || moments == use.moments.end() ||
        without == moments->second.before)
      continue;
    std::optional<Lifetime> lifetime = lifetimeFrom(load, place);
    if (!lifetime)
      return nullptr;
    if (hasRoom(load, *lifetime))
      return behindCopies(place, load);
    without = lifetime->begin;
  }
  return nullptr;
}

void EarlyCopies::moveUp(LoadOp load) {
  llvm::SetVector<Operation *> arithmetic;
  collectArithmetic(load, arithmetic);
  Operation *place = roomyPlace(load, arithmetic);
  if (!place)
    return;
  Lifetime lifetime = *lifetimeFrom(load, place);
  MemoryUse::Load &own = use.loads[load];
  if (own.request < 0) {
    own.request = use.requests.size();
    use.requests.push_back(lifetime);
    copies.insert(load);
  }
  use.requests[own.request].begin = lifetime.begin;
  if (place == load)
    return;
  for (Operation *op : arithmetic)
    if (!op->isBeforeInBlock(place))
      moveBefore(op, place);
  moveBefore(load, place);
}

bool EarlyCopies::moveLoads() {
  SmallVector<LoadOp> loads;
  kernel.walk([&](LoadOp load) {
    if (use.loads.contains(load) && !isWeight(load) && isOnlyRead(load.getMemref()))
      loads.push_back(load);
  });
  // Threads wait for elements that they move themselves: copies are on their way by then.
  for (bool isCopy : {true, false})
    for (LoadOp load : loads)
      if (use.loads[load].isCopy == isCopy)
        moveUp(load);
  return !moves.empty() || !copies.empty();
}

void EarlyCopies::undo() {
  for (auto [op, next] : llvm::reverse(moves))
    op->moveBefore(next);
  moves.clear();
  copies.clear();
}
