//===- Differentiate.cpp - an attention becomes its two directions --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directions.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

//===----------------------------------------------------------------------===//
// What has no gradient
//===----------------------------------------------------------------------===//

static LogicalResult checkOp(Operation &op) {
  if (auto attend = dyn_cast<AttendOp>(op)) {
    if (attend.getNormalizer().needsRowMax())
      return attend.emitOpError("has no gradient with `eps_mode = row_max`: the largest score of a "
                                "row is not known from its sums");
    if (attend.getFactors())
      return attend.emitOpError("keeps factors for a gradient already");
    if (attend.hasDecayOfFeatures())
      return attend.emitOpError("has no gradient yet: its decay is one of each feature");
    if (attend.getStateEvery())
      return attend.emitOpError("has states after blocks, which gradients have or keep by "
                                "themselves: second derivatives are not supported");
    if (attend.getOfKeys())
      return attend.emitOpError(
          "has rows of keys, which gradients have: second derivatives are not "
          "supported");
    return success();
  }
  if (op.hasTrait<OnlyInGradients>())
    return op.emitOpError("is a gradient: second derivatives are not supported");
  if (isa<ApplyOp>(op))
    return op.emitOpError("applies a map; maps must be inlined before they are differentiated");
  return success();
}

/// A tensor of which nobody asks the gradient unless it is named: numbers that are given, not
/// learned.
static bool isGiven(AttentionOp attention, BlockArgument argument) {
  if (attention.isWholeNumbers(argument))
    return true;
  return llvm::any_of(argument.getUses(), [](OpOperand &use) {
    auto read = dyn_cast<ReadOp>(use.getOwner());
    if (!read)
      return false;
    if (cast<RankedTensorType>(read.getTensor().getType()).getRank() == 3 &&
        isa<FeatureType>(read.getType()))
      return true;
    return llvm::any_of(read->getUses(), [](OpOperand &inner) {
      return meaningOf(inner) == WeightMeaning::Frequencies;
    });
  });
}

/// A named argument that no rule refuses, as none has a rule for it.
static LogicalResult checkNamed(AttentionOp attention, BlockArgument argument, StringRef name) {
  if (attention.isWholeNumbers(argument))
    return attention.emitOpError("has no gradient for its first position '") << name << "'";
  for (OpOperand &use : argument.getUses()) {
    auto read = dyn_cast<ReadOp>(use.getOwner());
    if (!read)
      continue;
    if (isa<FeatureType>(read.getType()) &&
        cast<RankedTensorType>(argument.getType()).getRank() == 3)
      return read.emitOpError("has no gradient: '")
             << name << "' is a table of positions, and sums over the batch are not supported";
  }
  return success();
}

static FailureOr<SmallVector<unsigned>> wantedArguments(AttentionOp attention,
                                                        ArrayRef<std::string> names) {
  SmallVector<unsigned> wanted;
  for (BlockArgument argument : attention.getBody().getArguments())
    if (names.empty() && !argument.use_empty() && !isGiven(attention, argument))
      wanted.push_back(argument.getArgNumber());
  for (StringRef name : names) {
    auto all = llvm::to_vector(attention.getArgNames().getAsValueRange<StringAttr>());
    auto it = llvm::find(all, name);
    if (it == all.end())
      return attention.emitOpError("has no argument '") << name << "' to be differentiated by";
    unsigned index = it - all.begin();
    if (failed(checkNamed(attention, attention.getBody().getArgument(index), name)))
      return failure();
    wanted.push_back(index);
  }
  llvm::sort(wanted);
  wanted.erase(llvm::unique(wanted), wanted.end());
  return wanted;
}

namespace {

struct Differentiate : polyattn::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    if (!only.empty() && only != "forward" && only != "backward") {
      getOperation().emitError(
          "polyattn-differentiate: expected only=forward or only=backward, got ")
          << "'" << only << "'";
      return signalPassFailure();
    }
    if (stateEvery < 0 || stateEvery > BlockStates::kMaxLength) {
      getOperation().emitError("polyattn-differentiate: expected state-every of 1 to ")
          << BlockStates::kMaxLength << " positions, or 0 for none, got " << stateEvery;
      return signalPassFailure();
    }
    for (auto attention : llvm::make_early_inc_range(getOperation().getOps<AttentionOp>()))
      if (failed(differentiate(attention)))
        return signalPassFailure();
  }

  LogicalResult differentiate(AttentionOp attention) {
    if (failed(checkNoKernels(attention)))
      return failure();
    if (attention.getSlots() || attention.getLengths() || attention.getResultIn())
      return attention.emitOpError("has no gradient: its states live in its arguments, or its "
                                   "batches have lengths");
    if (attention.getGradientOf())
      return attention.emitOpError("computes gradients: second derivatives are not supported");
    for (Operation &op : attention.getBody().front())
      if (failed(checkOp(op)))
        return failure();
    FailureOr<SmallVector<unsigned>> wanted = wantedArguments(attention, wrt);
    if (failed(wanted))
      return failure();
    FailureOr<SmallVector<Kept>> kept = keptOf(attention, stateEvery);
    if (failed(kept))
      return failure();
    // What has no gradient is refused in either direction: the forward entry serves the other.
    FailureOr<AttentionOp> backward = buildBackward(attention, *kept, *wanted);
    if (failed(backward))
      return failure();
    if (only != "backward")
      buildForward(attention, *kept);
    if (only == "forward")
      backward->erase();
    attention.erase();
    return success();
  }
};

} // namespace
