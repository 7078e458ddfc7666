//===- ExpandMath.cpp - functions become arithmetic -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_EXPANDMATH
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;

namespace {
struct ExpandMathPass : polyattn::impl::ExpandMathBase<ExpandMathPass> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    auto powers = hasExp2 ? polyattn::Exp2::Instruction : polyattn::Exp2::Arithmetic;
    polyattn::populateExponentialFormulas(patterns, powers);
    polyattn::populateLogarithmFormulas(patterns, powers);
    polyattn::populateCircleFormulas(patterns, powers);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    // No formula leaves an op that has one.
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
