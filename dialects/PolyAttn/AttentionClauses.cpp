//===- AttentionClauses.cpp - where calls begin and states live -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttentionClauses.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/Sides.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;

static BlockArgument argumentOf(AttentionOp op, std::optional<uint64_t> index) {
  return index && *index < op.getBody().getNumArguments() ? op.getBody().getArgument(*index)
                                                          : BlockArgument();
}

BlockArgument AttentionOp::getFirstPositionArgument() {
  return argumentOf(*this, getFirstPosition());
}
BlockArgument AttentionOp::getSlotsArgument() { return argumentOf(*this, getSlots()); }
BlockArgument AttentionOp::getLengthsArgument() { return argumentOf(*this, getLengths()); }
BlockArgument AttentionOp::getOffsetsArgument() { return argumentOf(*this, getPacked()); }

bool AttentionOp::isWholeNumbers(BlockArgument argument) {
  return llvm::is_contained(
      {getFirstPositionArgument(), getSlotsArgument(), getLengthsArgument(), getOffsetsArgument()},
      argument);
}

BlockArgument AttentionOp::getArgumentOfResult(unsigned result) {
  std::optional<ArrayRef<int64_t>> places = getResultIn();
  if (!places || result >= places->size() || (*places)[result] < 0)
    return {};
  return argumentOf(*this, uint64_t((*places)[result]));
}

/// An argument of whole numbers, [B], or [N + 1] for offsets; `what` it is, for errors.
static LogicalResult verifyNumbers(AttentionOp op, std::optional<uint64_t> index, StringRef what) {
  if (!index)
    return success();
  BlockArgument argument = argumentOf(op, index);
  if (!argument)
    return op.emitOpError("C5: there is no argument ") << *index;
  auto name = op.getArgNames()[argument.getArgNumber()];
  auto tensor = dyn_cast<RankedTensorType>(argument.getType());
  bool isVector = tensor && tensor.getRank() == 1 && tensor.isDynamicDim(0);
  if (!isVector || !(tensor.getElementType().isSignlessInteger(32) ||
                     tensor.getElementType().isSignlessInteger(64)))
    return op.emitOpError("C5: argument ")
           << name << " is " << what << " and must be tensor<?xi64> or tensor<?xi32>, not "
           << argument.getType();
  if (!argument.use_empty())
    return op.emitOpError("C5: argument ") << name << " is " << what << ", but the body uses it";
  return success();
}

LogicalResult polyattn::verifyClauses(AttentionOp op) {
  if (failed(verifyNumbers(op, op.getFirstPosition(), "the first position")) ||
      failed(verifyNumbers(op, op.getSlots(), "the slots")) ||
      failed(verifyNumbers(op, op.getLengths(), "the lengths")) ||
      failed(verifyNumbers(op, op.getPacked(), "the offsets")))
    return failure();
  llvm::SmallDenseSet<uint64_t> seen;
  for (std::optional<uint64_t> index :
       {op.getFirstPosition(), op.getSlots(), op.getLengths(), op.getPacked()})
    if (index && !seen.insert(*index).second)
      return op.emitOpError("C5: two clauses name argument ") << op.getArgNames()[*index];
  if (op.getPacked() && op.getLengths())
    return op.emitOpError("C9: packed sequences have offsets, and no lengths");
  return success();
}

/// What a result goes on from, so that it may live there: the initial state or normalizer of a
/// final one, the pool of rows that are kept, a gradient's running sum; null for others, or where
/// the initial one is the final one's transpose.
static Value initialOf(Value value) {
  if (auto keep = value.getDefiningOp<KeepOp>())
    return keep.getPool();
  if (Value sum = runningSumOf(value))
    return sum;
  auto attend = definingOp<AttendOp>(value);
  if (!attend)
    return {};
  ResultRange states = attend.getFinalStates();
  auto it = llvm::find(states, yieldedValue(value));
  GivenState given = attend.getGivenState();
  if (it == states.end() || given.isTransposed)
    return {};
  return it == states.begin() ? given.state : given.normalizer;
}

/// Results that live in arguments. The body ends in a `return` of as many values as there are
/// results.
LogicalResult polyattn::verifyPlaces(AttentionOp op, ReturnOp returned) {
  std::optional<ArrayRef<int64_t>> places = op.getResultIn();
  if (places && places->size() != op.getResultNames().size())
    return op.emitOpError("C7: `result_in` has ")
           << places->size() << " numbers for " << op.getResultNames().size() << " results";
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [i, place] : llvm::enumerate(places.value_or(ArrayRef<int64_t>()))) {
    auto name = op.getResultNames()[i];
    if (place < 0)
      continue;
    BlockArgument argument = argumentOf(op, uint64_t(place));
    if (!argument)
      return op.emitOpError("C7: there is no argument ") << place << " for result " << name;
    auto where = op.getArgNames()[place];
    Value value = returned.getResults()[i];
    if (!initialOf(value) || initialOf(value) != argument || !argument.hasOneUse())
      return op.emitOpError("C7: result ")
             << name << " lives in argument " << where
             << ", but is not the final state of the one attend whose initial state that is"
             << ", nor what is kept or summed up there";
    Type type = cast<TypeAttr>(op.getResultTypes()[i]).getValue();
    if (argument.getType() != type)
      return op.emitOpError("C7: result ")
             << name << ", " << type << ", lives in argument " << where
             << ", which has another type, " << argument.getType();
    if (!taken.insert(place).second)
      return op.emitOpError("C7: two results live in argument ") << where;
  }
  return success();
}

/// Gradients that are added to what an argument holds.
LogicalResult polyattn::verifySums(AttentionOp op, ReturnOp returned) {
  for (auto [value, type, name] :
       llvm::zip(returned.getResults(), op.getResultTypes().getAsValueRange<TypeAttr>(),
                 op.getResultNames())) {
    Value sum = runningSumOf(value);
    if (!sum)
      continue;
    bool isOfDecay = isa<RankedTensorType>(value.getType());
    if (isOfDecay && cast<RankedTensorType>(type).getRank() != 1)
      return op.emitOpError("C11: result ")
             << name << " has a running sum, but its decay positions";
    if (!isa<BlockArgument>(sum) || !sum.hasOneUse() || sum.getType() != type)
      return op.emitOpError("C11: expected the running sum of result ")
             << name << " to be an argument of its own, of type " << type << ", got "
             << sum.getType();
  }
  return success();
}

/// Whether an argument says how many heads H there are.
static bool countsHeads(AttentionOp op, BlockArgument argument) {
  auto tensor = cast<RankedTensorType>(argument.getType());
  bool isOfAllHeads =
      tensor.hasStaticShape() || (tensor.getRank() == 3 && tensor.getDimSize(1) == 1);
  return !isOfAllHeads && !hasSharedHeads(tensor) && !op.isWholeNumbers(argument);
}

/// A tensor with an encoding is a sequence that heads share: one that is read, or a gradient of
/// such a one, which has been summed up over them.
LogicalResult polyattn::verifySharedHeads(AttentionOp op, ReturnOp returned) {
  auto verify = [&](StringRef kind, Attribute name, Type type, bool isSequence) -> LogicalResult {
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.getEncoding() || (hasSharedHeads(tensor) && isSequence && tensor.getRank() == 4))
      return success();
    return op.emitOpError("C13: ") << kind << " " << name << ", " << type
                                   << ", is no sequence [B, T, Hkv, d] whose heads are shared";
  };
  for (auto [argument, name] : llvm::zip(op.getBody().getArguments(), op.getArgNames()))
    if (failed(verify("argument", name, argument.getType(),
                      !AttentionOp::isDecayOrState(argument) && !op.isWholeNumbers(argument))))
      return failure();
  for (auto [value, name, type] : llvm::zip(returned.getResults(), op.getResultNames(),
                                            op.getResultTypes().getAsValueRange<TypeAttr>())) {
    bool isSum = bool(definingOp<SumHeadsOp>(value));
    if (failed(verify("result", name, type, isSum)))
      return failure();
    if (isSum && !hasSharedHeads(type))
      return op.emitOpError("C13: result ")
             << name << " is summed up over heads (`sum_heads`), and " << type
             << " has no shared ones";
  }
  if (!sharesHeads(op))
    return success();
  if (llvm::none_of(op.getBody().getArguments(),
                    [&](BlockArgument argument) { return countsHeads(op, argument); }))
    return op.emitOpError("C13: heads share every sequence, and no argument says how many heads "
                          "there are: give one of the sequences H heads");
  WalkResult walked = op.walk([](Operation *inside) {
    bool isInterleaved = llvm::TypeSwitch<Operation *, bool>(inside)
                             .Case<AttendOp, AttendBackwardOp, DecayGradientOp>([](auto attend) {
                               return attend.getGrouping() == Grouping::Interleaved;
                             })
                             .Default(false);
    if (!isInterleaved)
      return WalkResult::advance();
    inside->emitOpError("C13: groups heads `interleaved` beside a sequence whose heads are shared, "
                        "which are shared by heads that lie together (`block`)");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

bool AttentionOp::hasStatesInPlace() {
  auto returned = cast<ReturnOp>(getBody().front().getTerminator()).getResults();
  return llvm::any_of(llvm::enumerate(returned), [&](auto result) {
    return getArgumentOfResult(result.index()) && !runningSumOf(result.value());
  });
}

bool AttentionOp::hasLocalBlocksOf(int64_t positions) {
  return llvm::all_of(attendsOf(*this), [&](AttendOp attend) {
    return !attend.getLocalQuery() || attend.getSliding() ||
           int64_t(attend.getBlock().value_or(0)) % positions == 0;
  });
}

/// What lives in a pool is one result: memory of a second one would have rows of no batch.
static LogicalResult verifyOneResult(AttentionOp op, ReturnOp returned,
                                     const llvm::SmallDenseSet<Value> &inPools) {
  for (auto [i, value] : llvm::enumerate(returned.getResults()))
    if (inPools.contains(yieldedValue(value)) && !op.getArgumentOfResult(i))
      return op.emitOpError("C8: with slots a state is one result, in its pool, and result ")
             << op.getResultNames()[i] << " is another one that lives in no argument";
  return success();
}

/// What slots and lengths ask of the attends.
LogicalResult polyattn::verifyDecoding(AttentionOp op, ReturnOp returned) {
  if (!op.getSlots() && !op.getLengths())
    return success();
  llvm::SmallDenseSet<Value> inPools;
  for (auto [i, value] : llvm::enumerate(returned.getResults()))
    if (op.getArgumentOfResult(i))
      inPools.insert(yieldedValue(value));
  bool hasState = false;
  for (Operation &inside : op.getBody().front())
    if (inside.hasTrait<OnlyInGradients>())
      return inside.emitOpError("C8: has no slots and no lengths");
  for (AttendOp attend : attendsOf(op)) {
    if (attend.getMask() != Mask::Causal)
      return attend.emitOpError("C8: with slots or lengths the mask must be causal");
    if (attend.getLocalQuery() && op.getBody().getOps<KeepOp>().empty())
      return attend.emitOpError("C8: with slots or lengths local vectors need the rows of their ")
             << (attend.getSliding() ? "window" : "block")
             << ", which reaches into the calls before: there is no `keep`";
    if (attend.getWindow() && op.getSlots()) {
      if (op.getBody().getOps<KeepOp>().empty())
        return attend.emitOpError(
            "C8: with slots a window needs the rows of the calls before: there is "
            "no `keep`");
      hasState = true;
    }
    Value initial = attend.getGivenState().state;
    // Keys come out of a window that slides, and into a state.
    if (!op.getSlots() || (!initial && !attend.getFinalState() && !attend.getSliding()))
      continue;
    hasState = true;
    bool lives = initial && attend.getFinalState();
    for (Value state : attend.getFinalStates())
      lives &= inPools.contains(state);
    if (!lives)
      return attend.emitOpError("C8: with slots a state begins and ends in a pool: `initial`, "
                                "`final_state`, and results that live in the initial ones");
  }
  if (op.getSlots() && !hasState)
    return op.emitOpError(
        "C8: slots are rows of pools of states, and there is no state and no window");
  return op.getSlots() ? verifyOneResult(op, returned, inPools) : success();
}
