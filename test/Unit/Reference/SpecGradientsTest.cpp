//===- SpecGradientsTest.cpp - gradients of every spec of the library -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientChecks.h"
#include "RandomArguments.h"
#include "SpecLibrary.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// A state of more features than this would take the test too long.
constexpr int64_t kMaxState = 3000;

bool isQuick(AttentionOp attention) {
  return llvm::all_of(attention.getBody().getOps<AttendOp>(), [](AttendOp attend) {
    bool hasState = attend.getInitialState() || attend.getFinalState();
    return !hasState || cast<FeatureType>(attend.getKey().getType()).getWidth() <= kMaxState;
  });
}

/// Lets queries of attends that may do so see all keys; false where none may.
bool removeCausalMasks(AttentionOp attention) {
  bool any = false;
  for (auto attend : attention.getBody().getOps<AttendOp>())
    if (!attend.hasDecay() && !attend.getLocalQuery() && !attend.getInitialState() &&
        !attend.getFinalState() && attend.getMask() == Mask::Causal) {
      attend.setMask(Mask::Full);
      any = true;
    }
  return any;
}

class SpecGradientsTest : public testing::TestWithParam<std::string> {};

TEST_P(SpecGradientsTest, TapeAgreesWithDifferences) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(specPath(GetParam()), &context);
  ASSERT_TRUE(module);
  for (auto attention : module->getOps<AttentionOp>()) {
    SCOPED_TRACE(attention.getSymName().str());
    if (!isQuick(attention) || !hasGradient(attention))
      continue;
    GradientCall call(attention, smallSizes(attention));
    // Other storage of the same numbers means the same.
    if (call.signature.storage() != ElementType::F32)
      continue;
    expectGradientsAreDifferences(call, /*elements=*/0);
    if (!removeCausalMasks(attention))
      continue;
    GradientCall full(attention, call.sizes, /*seed=*/2);
    expectDifferenceAlongAll(full);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, SpecGradientsTest, testing::ValuesIn(specNames()), specTestName);

} // namespace
