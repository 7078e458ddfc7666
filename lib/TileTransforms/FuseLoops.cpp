//===- FuseLoops.cpp - loops over the same blocks are one loop ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Inputs.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace polyattn {
#define GEN_PASS_DEF_FUSELOOPS
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

struct FuseLoops : polyattn::impl::FuseLoopsBase<FuseLoops> {
  using FuseLoopsBase::FuseLoopsBase;
  void runOnOperation() override;
};

/// What ops do with memory.
struct Accesses {
  llvm::DenseSet<Value> reads, writes; // buffers and tensors
  bool isKnown = true;

  void add(Operation *op);
  /// Whether ops with `other` may come after these as well as before them.
  bool commuteWith(const Accesses &other) const {
    auto meet = [](const llvm::DenseSet<Value> &a, const llvm::DenseSet<Value> &b) {
      return llvm::any_of(a, [&](Value value) { return b.contains(value); });
    };
    return isKnown && other.isKnown && !meet(writes, other.writes) && !meet(writes, other.reads) &&
           !meet(reads, other.writes);
  }
};

/// A loop and a later one over the same blocks.
class LoopPair {
public:
  LoopPair(scf::ForOp first, scf::ForOp second) : first(first), second(second) {}

  bool canFuse();
  /// The numbers in tiles that the fused loop carries.
  int64_t countCarried();
  scf::ForOp fuse(RewriterBase &rewriter);

private:
  bool collectNeeded();
  bool haveEqualWork();
  bool areEqual(Value a, Value b);

  scf::ForOp first, second;
  llvm::DenseSet<std::pair<Value, Value>> equal; // of the first loop and the second one
  llvm::SetVector<Operation *>
      needed; // ops between the loops from which the second one is computed
};

} // namespace

void Accesses::add(Operation *op) {
  op->walk([&](Operation *inner) {
    if (auto load = dyn_cast<tile::LoadOp>(inner)) {
      reads.insert(load.getMemref());
      return;
    }
    auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!effects) {
      // Loops and branches have the effects of what is in them.
      isKnown &= inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isPure(inner);
      return;
    }
    SmallVector<MemoryEffects::EffectInstance> found;
    effects.getEffects(found);
    for (const MemoryEffects::EffectInstance &effect : found) {
      if (isa<MemoryEffects::Allocate>(effect.getEffect()))
        continue;
      isKnown &= bool(effect.getValue());
      if (Value value = effect.getValue())
        (isa<MemoryEffects::Read>(effect.getEffect()) ? reads : writes).insert(value);
    }
  });
}

/// The ops between the loops that the second one needs; false where one of them needs the first.
bool LoopPair::collectNeeded() {
  SmallVector<Operation *> pending = {second};
  auto visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != first->getBlock() || op->isBeforeInBlock(first))
      return true;
    if (op == first)
      return false;
    if (needed.insert(op))
      pending.push_back(op);
    return true;
  };
  while (!pending.empty()) {
    bool isFree = true;
    pending.pop_back_val()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *op = operand.getDefiningOp();
        bool isInside = op && (second->isProperAncestor(op) || needed.contains(op));
        isFree &= isInside || visit(operand);
      }
    });
    if (!isFree)
      return false;
  }
  return true;
}

/// Whether a value of the first loop is that of the second one in each iteration.
bool LoopPair::areEqual(Value a, Value b) {
  if (a == b || equal.contains({a, b}))
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right || !(isPure(left) || isa<tile::LoadOp>(left)) ||
      !OperationEquivalence::isEquivalentTo(
          left, right, [&](Value x, Value y) { return success(areEqual(x, y)); },
          [&](Value x, Value y) { equal.insert({x, y}); }, OperationEquivalence::IgnoreLocations))
    return false;
  equal.insert({a, b});
  return true;
}

/// Whether an op takes long: a product, or a function of each element.
static bool isWork(Operation &op) {
  if (isa<tile::DotOp>(op))
    return true;
  auto map = dyn_cast<tile::MapOp>(op);
  return map && llvm::any_of(map.getBody().front(), [](Operation &inner) {
           return isa<math::MathDialect>(inner.getDialect());
         });
}

/// Whether both loops compute something that takes long, which is then computed once.
bool LoopPair::haveEqualWork() {
  equal.clear();
  equal.insert({first.getInductionVar(), second.getInductionVar()});
  return llvm::any_of(*second.getBody(), [&](Operation &own) {
    return isWork(own) && llvm::any_of(*first.getBody(), [&](Operation &other) {
             return isWork(other) && areEqual(other.getResult(0), own.getResult(0));
           });
  });
}

bool LoopPair::canFuse() {
  if (first.getLowerBound() != second.getLowerBound() ||
      first.getUpperBound() != second.getUpperBound() || first.getStep() != second.getStep() ||
      !collectNeeded())
    return false;
  if (!haveEqualWork())
    return false;
  Accesses passed, moved;
  for (Operation *op = first; op != second; op = op->getNextNode())
    if (!needed.contains(op))
      passed.add(op);
  for (Operation *op : needed)
    moved.add(op);
  moved.add(second);
  return passed.commuteWith(moved);
}

int64_t LoopPair::countCarried() {
  int64_t numbers = 0;
  for (scf::ForOp loop : {first, second})
    for (Type type : loop.getResultTypes())
      if (auto tile = dyn_cast<tile::TileType>(type))
        numbers += tile.getRows() * tile.getColumns();
  return numbers;
}

scf::ForOp LoopPair::fuse(RewriterBase &rewriter) {
  SmallVector<Operation *> inOrder(needed.begin(), needed.end());
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : inOrder)
    rewriter.moveOpBefore(op, first);
  return fuseIndependentSiblingForLoops(second, first, rewriter);
}

/// Fuses the loops of a block, each with the first one that takes it.
static void fuseLoopsOf(Block &block, int64_t mostCarried, RewriterBase &rewriter) {
  SmallVector<scf::ForOp> loops;
  for (auto loop : llvm::make_early_inc_range(block.getOps<scf::ForOp>())) {
    bool isFused = false;
    for (scf::ForOp &earlier : loops) {
      LoopPair pair(earlier, loop);
      if (!pair.canFuse() || (mostCarried && pair.countCarried() > mostCarried))
        continue;
      earlier = pair.fuse(rewriter);
      isFused = true;
      break;
    }
    if (!isFused)
      loops.push_back(loop);
  }
}

void FuseLoops::runOnOperation() {
  SmallVector<Block *> blocks;
  getOperation()->walk([&](Block *block) { blocks.push_back(block); });
  // Inner loops first: what is fused keeps its body's ops, which are clones.
  IRRewriter rewriter(&getContext());
  for (Block *block : blocks)
    fuseLoopsOf(*block, carried, rewriter);
}
