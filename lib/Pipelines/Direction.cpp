//===- Direction.cpp - the entries of a direction -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Pipelines/Direction.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "polyattn/Transforms/Passes.h"

using namespace polyattn;

void polyattn::buildDirectionPipeline(mlir::OpPassManager &passes,
                                      const DirectionOptions &options) {
  if (options.direction == CallDirection::Forward)
    return;
  passes.addPass(createInlineMaps());
  passes.addPass(createSimplifyFeatures());
  // Tables that repeat their last number have states then, which continue, and gradients in time
  // that is linear in the length.
  passes.addPass(createLocalizeTables());
  if (options.direction == CallDirection::Decode) {
    passes.addPass(createDeriveDecode());
    return;
  }
  if (options.direction == CallDirection::States) {
    passes.addPass(createDeriveStates());
    passes.addPass(createDropRows());
    return;
  }
  if (options.direction == CallDirection::GradientStates) {
    passes.addPass(createDeriveGradientStates());
    passes.addPass(createExpandBackward());
    passes.addPass(createDropRows());
    return;
  }
  DifferentiateOptions differentiate;
  differentiate.wrt.assign(options.gradients.wrt.begin(), options.gradients.wrt.end());
  differentiate.stateEvery = options.gradients.stateEvery;
  if (options.direction == CallDirection::Backward)
    differentiate.only = "backward";
  else if (!options.pair)
    differentiate.only = "forward";
  passes.addPass(createDifferentiate(differentiate));
  passes.addPass(createExpandBackward());
  if (options.gradients.accumulate)
    passes.addPass(createAccumulateGradients());
}

namespace {
struct TextOptions : mlir::PassPipelineOptions<TextOptions> {
  Option<CallDirection> direction{
      *this, "direction", llvm::cl::desc("what calls compute"),
      llvm::cl::init(CallDirection::Training),
      llvm::cl::values(
          clEnumValN(CallDirection::Forward, "forward", "results alone: nothing changes"),
          clEnumValN(CallDirection::Training, "training", "@name__forward and @name__backward"),
          clEnumValN(CallDirection::Backward, "backward", "@name__backward alone"),
          clEnumValN(CallDirection::Decode, "decode", "@name__decode, with states in pools"),
          clEnumValN(CallDirection::States, "states", "@name__states, of a segment"),
          clEnumValN(CallDirection::GradientStates, "gradient_states",
                     "@name__gradient_states, of a segment"))};
  ListOption<std::string> wrt{*this, "wrt", llvm::cl::desc("arguments whose gradients are wanted")};
  Option<bool> accumulate{
      *this, "accumulate",
      llvm::cl::desc("add gradients that are sums over positions to what their results hold")};

  Option<int64_t> stateEvery{
      *this, "state-every",
      llvm::cl::desc("keep states after so many positions each, for gradients in one sweep")};

  DirectionOptions get() const {
    return {direction, /*pair=*/true, {{wrt.begin(), wrt.end()}, accumulate, stateEvery}};
  }
};
} // namespace

void polyattn::registerDirectionPipeline() {
  mlir::PassPipelineRegistration<TextOptions>(
      "polyattn-direction-pipeline", "Make of attentions the entries of a direction",
      [](mlir::OpPassManager &passes, const TextOptions &options) {
        buildDirectionPipeline(passes, options.get());
      });
}
