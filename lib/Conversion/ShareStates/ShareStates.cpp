//===- ShareStates.cpp - one buffer for states that are the same ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of keys and of values read one state, the gradient of what the keys have left in the
// forward one. They are two attends, each with a buffer and a loop over blocks of features.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Analysis/SameValues.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/Conversion/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace polyattn {
#define GEN_PASS_DEF_SHARESTATES
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

namespace {
/// Two loops over the same numbers in one block, the first before the second, or one loop twice.
struct LoopPair {
  scf::ForOp first, second;

  bool isOne() const { return first == second; }
  bool operator==(const LoopPair &other) const {
    return first == other.first && second == other.second;
  }
};

/// Updates of both buffers that are the same, in one block or in a pair of loops.
struct UpdatePair {
  AccumulateOp first, second;
};

/// Two buffers of one block, of which the second can stand for both.
class SharedState {
public:
  SharedState(BufferOp first, BufferOp second) : first(first), second(second) {}

  /// Whether all updates are the same. Nothing is changed.
  bool match();
  void apply();

private:
  bool matchUpdates();
  bool matchUpdate(AccumulateOp a, AccumulateOp b);
  bool areEqual(Value a, Value b) const;
  bool canJoin(const LoopPair &loops);
  void join(const LoopPair &loops);
  bool readsBetween(const UpdatePair &update) const;

  BufferOp first, second;
  SmallVector<UpdatePair> updates;
  SmallVector<LoopPair> loops; // that are to be one
};
} // namespace

static scf::ForOp loopAround(Operation *op) { return dyn_cast<scf::ForOp>(op->getParentOp()); }

static SmallVector<AccumulateOp> updatesOf(BufferOp buffer) {
  SmallVector<AccumulateOp> updates;
  for (Operation *user : buffer->getUsers())
    if (auto update = dyn_cast<AccumulateOp>(user))
      updates.push_back(update);
  return updates;
}

/// Whether nothing but reads and updates touches a buffer.
static bool isGathered(BufferOp buffer) {
  return !buffer.getPersistent() &&
         llvm::all_of(buffer->getUsers(), llvm::IsaPred<ReadOp, AccumulateOp>);
}

/// Whether both values are the same in all iterations of loops that are joined.
bool SharedState::areEqual(Value a, Value b) const {
  return polyattn::areEqual(a, b, [&](BlockArgument own, BlockArgument other) {
    return llvm::any_of(loops, [&](LoopPair pair) {
      return pair.first.getInductionVar() == own && pair.second.getInductionVar() == other;
    });
  });
}

bool SharedState::matchUpdate(AccumulateOp a, AccumulateOp b) {
  scf::ForOp own = loopAround(a), other = loopAround(b);
  LoopPair pair{own, other};
  bool isInner = a->getBlock() != b->getBlock();
  if (isInner) {
    if (!own || !other || own->getBlock() != other->getBlock() || !own->isBeforeInBlock(other) ||
        own.getLowerBound() != other.getLowerBound() ||
        own.getUpperBound() != other.getUpperBound() || own.getStep() != other.getStep())
      return false;
    if (!llvm::is_contained(loops, pair))
      loops.push_back(pair);
  } else if (!a->isBeforeInBlock(b)) {
    return false;
  }
  return areEqual(a.getRow(), b.getRow()) && areEqual(a.getLhs(), b.getLhs()) &&
         areEqual(a.getRhs(), b.getRhs()) && areEqual(a.getBound(), b.getBound()) &&
         areEqual(a.getFactor(), b.getFactor()) && a.multipliesIn() == b.multipliesIn();
}

bool SharedState::matchUpdates() {
  SmallVector<AccumulateOp> own = updatesOf(first), other = updatesOf(second);
  if (own.size() != other.size())
    return false;
  for (AccumulateOp a : own) {
    auto found = llvm::find_if(other, [&](AccumulateOp b) {
      SmallVector<LoopPair> before = loops;
      if (matchUpdate(a, b))
        return true;
      loops = before;
      return false;
    });
    if (found == other.end())
      return false;
    updates.push_back({a, *found});
    other.erase(found);
  }
  return true;
}

/// Whether the first buffer is read between the updates of a block: it would lack the first.
bool SharedState::readsBetween(const UpdatePair &update) const {
  Block *block = update.first->getBlock();
  return llvm::any_of(first->getUsers(), [&](Operation *user) {
    Operation *near = isa<ReadOp>(user) ? block->findAncestorOpInBlock(*user) : nullptr;
    return near && update.first->isBeforeInBlock(near) &&
           (update.second->getBlock() != block || near->isBeforeInBlock(update.second));
  });
}

/// What the second loop needs of the ops between both, in program order; null where it needs what
/// cannot stand before the first loop.
static std::optional<SmallVector<Operation *>> neededBetween(const LoopPair &loops) {
  llvm::SetVector<Operation *> needed;
  Block *block = loops.first->getBlock();
  SmallVector<Operation *> open = {loops.second};
  while (!open.empty()) {
    Operation *user = open.pop_back_val();
    bool isMoved = true;
    user->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *op = operand.getDefiningOp();
        if (!op || op->getBlock() != block || op->isBeforeInBlock(loops.first))
          continue;
        if (op == loops.first || !isMovable(op))
          isMoved = false;
        else if (needed.insert(op))
          open.push_back(op);
      }
    });
    if (!isMoved)
      return std::nullopt;
  }
  SmallVector<Operation *> ordered = needed.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

/// Whether the second loop can do its work with the first one: nothing that it reads is written by
/// the first or between both, and what it writes only it and the first one touch there.
bool SharedState::canJoin(const LoopPair &loops) {
  if (!neededBetween(loops))
    return false;
  llvm::DenseSet<Value> buffers;
  WalkResult result = loops.second->walk([&](Operation *op) {
    if (op == loops.second || isMovable(op) || op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    if (!isa<ReadOp, WriteOp, AccumulateOp>(op))
      return WalkResult::interrupt();
    for (Value operand : op->getOperands())
      if (isa<BufferType>(operand.getType()))
        buffers.insert(operand);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return false;
  for (Value buffer : buffers)
    for (Operation *user : buffer.getUsers()) {
      Operation *near = loops.first->getBlock()->findAncestorOpInBlock(*user);
      bool isBetween =
          near && !near->isBeforeInBlock(loops.first) && near->isBeforeInBlock(loops.second);
      if (isBetween)
        return false;
    }
  return true;
}

bool SharedState::match() {
  if (first.getType() != second.getType() || first->getBlock() != second->getBlock() ||
      !isGathered(first) || !isGathered(second) || !matchUpdates() || updates.empty())
    return false;
  // A loop joins one other.
  for (const LoopPair &a : loops)
    for (const LoopPair &b : loops)
      if (!(a == b) && (a.first == b.first || a.second == b.second || a.first == b.second))
        return false;
  return llvm::none_of(updates, [&](const UpdatePair &update) { return readsBetween(update); }) &&
         llvm::all_of(loops, [&](const LoopPair &pair) { return canJoin(pair); });
}

/// One loop, in place of the first, with what the first does before what the second does.
void SharedState::join(const LoopPair &loops) {
  scf::ForOp a = loops.first, b = loops.second;
  SmallVector<Operation *> needed = *neededBetween(loops);
  for (Operation *op : needed)
    op->moveBefore(a);
  SmallVector<Value> init(a.getInitArgs());
  llvm::append_range(init, b.getInitArgs());
  OpBuilder builder(a);
  auto joined = scf::ForOp::create(builder, a.getLoc(), a.getLowerBound(), a.getUpperBound(),
                                   a.getStep(), init);
  Block *body = joined.getBody();
  if (!init.empty())
    body->clear();
  else
    body->getTerminator()->erase();
  SmallVector<Value> yielded, results(joined.getResults());
  size_t next = 0;
  for (scf::ForOp loop : {a, b}) {
    size_t count = loop.getInitArgs().size();
    SmallVector<Value> arguments = {joined.getInductionVar()};
    llvm::append_range(arguments, joined.getRegionIterArgs().slice(next, count));
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    llvm::append_range(yielded, yield.getOperands());
    for (auto [own, argument] : llvm::zip(loop.getBody()->getArguments(), arguments)) {
      for (Value &value : yielded)
        value = value == own ? argument : value;
      own.replaceAllUsesWith(argument);
    }
    yield.erase();
    body->getOperations().splice(body->end(), loop.getBody()->getOperations());
    for (auto [own, result] : llvm::zip(loop.getResults(), ArrayRef(results).slice(next, count)))
      own.replaceAllUsesWith(result);
    next += count;
    loop.erase();
  }
  builder.setInsertionPointToEnd(body);
  scf::YieldOp::create(builder, joined.getLoc(), yielded);
}

void SharedState::apply() {
  for (const LoopPair &pair : loops)
    join(pair);
  for (const UpdatePair &update : updates)
    AccumulateOp(update.first).erase();
  first.replaceAllUsesWith(second.getResult());
  // The one that is kept may be made after loops that now read it.
  second->moveBefore(first);
  first.erase();
}

namespace {
struct ShareStatesPass : polyattn::impl::ShareStatesBase<ShareStatesPass> {
  using ShareStatesBase::ShareStatesBase;

  void runOnOperation() final {
    SmallVector<BufferOp> buffers;
    getOperation()->walk([&](BufferOp buffer) { buffers.push_back(buffer); });
    for (size_t i = 0; i < buffers.size(); ++i)
      for (size_t j = i + 1; j < buffers.size(); ++j) {
        SharedState shared(buffers[i], buffers[j]);
        if (!shared.match())
          continue;
        shared.apply();
        break; // the first of both is no more
      }
  }
};
} // namespace
