//===- DeriveDecode.cpp - an attention that continues sequences in place --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryExtension.h"
#include "dialects/PolyAttn/FeatureFacts.h"
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
  if (isa<AttendBackwardOp, WeightGradientOp, DecayGradientOp>(op))
    return op.emitOpError("is a gradient, which does not decode");
  auto attend = dyn_cast<AttendOp>(op);
  if (!attend)
    return success();
  if (attend.getMask() != Mask::Causal)
    return attend.emitOpError("does not decode with this mask: a token would see later ones");
  if (attend.getLocalQuery())
    return attend.emitOpError("does not decode with local vectors yet: their block reaches into "
                              "the keys of the calls before, which no state has");
  if (!attend.getNormalizer().allowsState())
    return attend.emitOpError("does not decode with `eps_mode = row_max`: the largest score of a "
                              "row is not known from a state");
  if (hasAbsoluteScore(attend.getKey()))
    return attend.emitOpError("does not decode: an odd power of |score| has no features, so no "
                              "state");
  int64_t width = cast<FeatureType>(attend.getKey().getType()).getWidth();
  if (width > AttendOp::kMaxStateWidth)
    return attend.emitOpError("does not decode: a state of ")
           << width << " features is too large to hold";
  if (attend.getFactors())
    return attend.emitOpError("keeps factors for a gradient, which does not decode");
  return success();
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

namespace {

void continueInPlace(AttendOp attend, EntryExtension &entry) {
  addInitialState(attend, entry);
  attend = withFinalState(attend);
  entry.place(attend.getFinalStates()[0], cast<BlockArgument>(attend.getInitialState()), "final");
  if (attend.getInitialNormalizer())
    entry.place(attend.getFinalStates()[1], cast<BlockArgument>(attend.getInitialNormalizer()),
                "final_normalizer");
}

struct DeriveDecode : polyattn::impl::DeriveDecodeBase<DeriveDecode> {
  using DeriveDecodeBase::DeriveDecodeBase;

  void runOnOperation() override {
    for (auto attention : llvm::make_early_inc_range(getOperation().getOps<AttentionOp>()))
      if (failed(derive(attention)))
        return signalPassFailure();
  }

  LogicalResult derive(AttentionOp attention) {
    if (attention.getSlots() || attention.getLengths() || attention.getResultIn())
      return attention.emitOpError("decodes already: it has slots, lengths, or a state that lives "
                                   "in an argument");
    auto attends = llvm::to_vector(attention.getBody().getOps<AttendOp>());
    if (attends.empty())
      return attention.emitOpError("has no attend, so nothing that continues");
    for (Operation &op : attention.getBody().front())
      if (failed(checkOp(op)))
        return failure();
    attention.setSymName((attention.getSymName() + "__decode").str());
    EntryExtension entry(attention);
    for (AttendOp attend : attends)
      continueInPlace(attend, entry);
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
