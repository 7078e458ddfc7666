//===- Direction.h - the entries of a direction -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PIPELINES_DIRECTION_H
#define POLYATTN_PIPELINES_DIRECTION_H

#include "mlir/Pass/PassManager.h"
#include "polyattn/Entry/Signature.h"

namespace polyattn {

struct DirectionOptions {
  CallDirection direction = CallDirection::Forward;
  /// With Training: both entries of the pair, not its forward half alone.
  bool pair = false;
  GradientOptions gradients = {};
};

/// The passes that make the entries of a direction of a spec's attentions, before the pipeline of a
/// target: gradients are those of simplified features, so that both entries have the features of
/// the kernels, as attends in place of `attend_backward` where that can be, and pools have the
/// fewest features. Forward there are none.
void buildDirectionPipeline(mlir::OpPassManager &passes, const DirectionOptions &options);

/// `--polyattn-direction-pipeline="direction=training|backward|decode|states|gradient_states
/// wrt=NAME,... accumulate"`; training
/// means the pair.
void registerDirectionPipeline();

} // namespace polyattn

#endif // POLYATTN_PIPELINES_DIRECTION_H
