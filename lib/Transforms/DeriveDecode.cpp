//===- DeriveDecode.cpp - an attention that continues sequences in place --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryExtension.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/Sides.h"
#include "polyattn/Schedule/Windows.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_DERIVEDECODE
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

//===----------------------------------------------------------------------===//
// What cannot be continued
//===----------------------------------------------------------------------===//

static LogicalResult checkOp(Operation &op) {
  if (op.hasTrait<OnlyInGradients>())
    return op.emitOpError("is a gradient, which does not decode");
  auto attend = dyn_cast<AttendOp>(op);
  if (!attend)
    return success();
  if (attend.getMask() != Mask::Causal)
    return attend.emitOpError("does not decode with this mask: a token would see later ones");
  std::string reason = attend.getWindow() ? noRingOf(attend) : noStateOf(attend);
  if (!reason.empty())
    return attend.emitOpError("does not decode: ") << reason;
  int64_t width = cast<FeatureType>(attend.getKey().getType()).getWidth();
  if (!attend.getWindow() && width > AttendOp::kMaxStateWidth)
    return attend.emitOpError("does not decode: a state of ")
           << width << " features is too large to hold";
  if (attend.getFactors() || attend.getStateEvery())
    return attend.emitOpError("keeps factors or states for a gradient, which does not decode");
  return success();
}

/// A call has one place in a local block: all attends have the same, or all have none. Windows are
/// not beside local blocks.
static LogicalResult checkBlocks(ArrayRef<AttendOp> attends) {
  auto blockOf = [](AttendOp attend) {
    return attend.getLocalQuery() && !attend.getSliding() ? int64_t(*attend.getBlock()) : 0;
  };
  bool haveBlocks = llvm::any_of(attends, blockOf);
  for (AttendOp attend : attends)
    if (haveBlocks && KeepOp::ringWindowOf(attend))
      return attend.emitOpError(
          "does not decode beside attends with local blocks: rows of the calls "
          "before are kept for blocks or for windows, not for both");
  for (AttendOp attend : attends)
    if (blockOf(attend) != blockOf(attends[0]))
      return attend.emitOpError("does not decode beside attends of other local blocks, or of none: "
                                "its state would be at another position");
  return success();
}

static LogicalResult checkStates(AttentionOp attention, ArrayRef<AttendOp> attends) {
  auto [attend, name] = findSharedState(attention, attends);
  if (!attend)
    return success();
  return attend.emitOpError("does not decode: it begins with ")
         << name
         << ", as another attend does, and a pool keeps the final state of one attend; give "
            "each attend a state of its own";
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

namespace {

/// Where a table of distances ends, or covers whole sequences, a ring has all keys that a row takes
/// something of.
void writeWindows(ArrayRef<AttendOp> attends) {
  for (AttendOp attend : attends)
    if (std::optional<int64_t> window = keptWindowOf(attend); window && !mayHaveState(attend))
      attend.setWindow(*window);
}

/// A state has one pool, and so it is one result, by the first of its names.
void mergeStates(AttentionOp attention) {
  llvm::DenseSet<Value> seen;
  filterResults(attention, [&](Value value) {
    return isa<FeatureType>(value.getType()) || seen.insert(value).second;
  });
}

void continueInPlace(AttendOp attend, EntryExtension &entry) {
  addInitialState(attend, entry);
  attend = withFinalState(attend);
  entry.place(attend.getFinalStates()[0], cast<BlockArgument>(attend.getInitialState()), "final");
  if (attend.getInitialNormalizer())
    entry.place(attend.getFinalStates()[1], cast<BlockArgument>(attend.getInitialNormalizer()),
                "final_normalizer");
}

/// Pools for what the last local block, or a window, has of the tensors that keys and values are
/// read from.
class KeptRows {
public:
  KeptRows(AttentionOp attention, EntryExtension &entry)
      : entry(entry), builder(attention.getBody().front().getTerminator()) {}

  void add(AttendOp attend) {
    for (BlockArgument tensor : sequencesOfKeys(attend)) {
      StringRef rows = isOnlyValue(tensor, attend) ? "_values" : "_keys";
      keep(tensor, attend, ((KeepOp::ringWindowOf(attend) ? "window" : "local") + rows).str());
    }
    auto decay = cast_or_null<BlockArgument>(attend.getDecay());
    if (decay && cast<RankedTensorType>(decay.getType()).getRank() == 3)
      keep(decay, attend, "local_decay");
  }

private:
  /// Whether keys are read from other tensors.
  static bool isOnlyValue(BlockArgument tensor, AttendOp attend) {
    return !llvm::is_contained(sequencesOf({attend.getKey(), attend.getLocalKey()}), tensor);
  }

  /// The rows of a pool: a ring has those of the longest window that reads the tensor.
  int64_t rowsFor(BlockArgument tensor, AttendOp attend) const {
    std::optional<int64_t> window = KeepOp::ringWindowOf(attend);
    if (!window)
      return *attend.getBlock();
    for (AttendOp other : attend->getBlock()->getOps<AttendOp>())
      if (std::optional<int64_t> own = KeepOp::ringWindowOf(other);
          own && llvm::is_contained(sequencesOfKeys(other), tensor))
        window = std::max(*window, *own);
    return KeepOp::ringRows(*window);
  }

  void keep(BlockArgument tensor, AttendOp attend, StringRef name) {
    if (KeepOp::of(tensor))
      return;
    SmallVector<int64_t> shape(cast<RankedTensorType>(tensor.getType()).getShape().drop_front(2));
    shape[0] = rowsFor(tensor, attend);
    BlockArgument pool = entry.addArgument(name, stateType(attend.getContext(), shape));
    auto kept = KeepOp::create(builder, attend.getLoc(), tensor, pool);
    entry.place(kept.getResult(), pool, ("final_" + name).str());
  }

  EntryExtension &entry;
  OpBuilder builder;
};

struct DeriveDecode : polyattn::impl::DeriveDecodeBase<DeriveDecode> {
  using DeriveDecodeBase::DeriveDecodeBase;

  void runOnOperation() override {
    for (auto attention : llvm::make_early_inc_range(getOperation().getOps<AttentionOp>()))
      if (failed(derive(attention)))
        return signalPassFailure();
  }

  LogicalResult derive(AttentionOp attention) {
    if (failed(checkNoKernels(attention)))
      return failure();
    if (attention.getSlots() || attention.getLengths() || attention.getResultIn())
      return attention.emitOpError("decodes already: it has slots, lengths, or a state that lives "
                                   "in an argument");
    auto attends = llvm::to_vector(attention.getBody().getOps<AttendOp>());
    for (auto convolution : attention.getBody().getOps<ConvolveOp>())
      return convolution.emitOpError(
          "does not decode: a token's row depends on all rows before it, "
          "and no state of a fixed size holds them");
    if (attends.empty())
      return attention.emitOpError("has no attend, so nothing that continues");
    writeWindows(attends);
    for (Operation &op : attention.getBody().front())
      if (failed(checkOp(op)))
        return failure();
    if (failed(checkBlocks(attends)) || failed(checkStates(attention, attends)))
      return failure();
    attention.setSymName((attention.getSymName() + "__decode").str());
    mergeStates(attention);
    EntryExtension entry(attention);
    for (AttendOp attend : attends)
      if (!attend.getWindow())
        continueInPlace(attend, entry);
    KeptRows kept(attention, entry);
    for (AttendOp attend : attention.getBody().getOps<AttendOp>())
      if (attend.getLocalQuery() || attend.getWindow())
        kept.add(attend);
    auto vector = [&](unsigned bits) {
      return RankedTensorType::get({ShapedType::kDynamic}, IntegerType::get(&getContext(), bits));
    };
    attention.setSlots(entry.addArgument("slots", vector(32)).getArgNumber());
    if (!attention.getFirstPosition())
      attention.setFirstPosition(entry.addArgument("first_position", vector(64)).getArgNumber());
    // Packed sequences have theirs from the offsets.
    if (!attention.getPacked())
      attention.setLengths(entry.addArgument("lengths", vector(32)).getArgNumber());
    entry.finish();
    return success();
  }
};

} // namespace
