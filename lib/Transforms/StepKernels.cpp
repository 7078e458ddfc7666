//===- StepKernels.cpp - say how calls of few tokens continue -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"
#include "polyattn/Schedule/KernelFacts.h"
#include "polyattn/Transforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_STEPKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

/// Tokens that go over a window one by one: a block of them reads its keys once.
static constexpr int64_t kMostWithWindows = 4;

namespace {
struct StepKernelsPass : polyattn::impl::StepKernelsBase<StepKernelsPass> {
  using StepKernelsBase::StepKernelsBase;

  void runOnOperation() override {
    if (fewTokens < 0 || fewTokens > StepsAttr::kMostTokens || oneByOne < 1 ||
        oneByOne > StepsAttr::kMostTokens || fewestBatches < 1 ||
        fewestBatches > StepsAttr::kBatchesPerProgram) {
      getOperation().emitError("expected few-tokens from 0 and one-by-one from 1 to ")
          << StepsAttr::kMostTokens << ", and fewest-batches from 1 to "
          << StepsAttr::kBatchesPerProgram << ", got " << int64_t(fewTokens) << ", "
          << int64_t(oneByOne) << " and " << int64_t(fewestBatches);
      return signalPassFailure();
    }
    for (AttentionOp attention : getOperation().getOps<AttentionOp>()) {
      if (!attention.hasStatesInPlace())
        continue;
      llvm::Expected<Signature> signature = signatureOf(attention);
      if (!signature) {
        attention.emitError(llvm::toString(signature.takeError()));
        return signalPassFailure();
      }
      for (KernelOp kernel : attention.getBody().getOps<KernelOp>())
        if (!kernel.getSteps())
          if (StepsAttr steps = chooseSteps(kernel, signature->sameHeads))
            kernel.setStepsAttr(steps);
    }
  }

private:
  /// Null where all calls are alike.
  StepsAttr chooseSteps(KernelOp op, bool sameHeads) {
    KernelFacts kernel(op, op.getBody());
    int64_t few = fewTokens < kernel.block() ? int64_t(fewTokens) : 0, tokens = 0, single = 1;
    if (kernel.canStep(sameHeads)) {
      if (kernel.canStepOneByOne())
        single = kernel.hasWindows() ? std::min<int64_t>(oneByOne, kMostWithWindows) : oneByOne;
      tokens = kernel.canStepFew(few) ? std::max(few, single) : single;
    }
    int64_t batches = tokens && kernel.sharesVectors() ? int64_t(fewestBatches) : 0;
    return tokens || few ? StepsAttr::get(op.getContext(), tokens, single, few, batches)
                         : StepsAttr();
  }
};
} // namespace
