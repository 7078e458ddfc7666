//===- AccumulateGradients.cpp - gradients that are added up over calls ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryExtension.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

/// Where a gradient that is a sum over positions takes its running sum; nothing for others.
static std::optional<MutableOperandRange> sumOperandOf(Value value) {
  if (auto gradient = value.getDefiningOp<WeightGradientOp>())
    return gradient.getPlusMutable();
  if (auto gradient = value.getDefiningOp<FilterGradientOp>())
    return gradient.getPlusMutable();
  auto gradient = value.getDefiningOp<DecayGradientOp>();
  if (gradient && cast<RankedTensorType>(gradient.getType()).getRank() == 1)
    return gradient.getPlusMutable();
  return std::nullopt;
}

/// Equal gradients are one op. Where that is several results, each has an op of its own from here
/// on, as each has a running sum of its own.
static void separateSums(ReturnOp returned) {
  llvm::DenseSet<Operation *> seen;
  OpBuilder builder(returned);
  for (OpOperand &result : returned->getOpOperands()) {
    std::optional<MutableOperandRange> sum = sumOperandOf(result.get());
    if (sum && sum->empty() && !seen.insert(result.get().getDefiningOp()).second)
      result.set(builder.clone(*result.get().getDefiningOp())->getResult(0));
  }
}

static void accumulate(AttentionOp attention) {
  EntryExtension entry(attention);
  auto all = attention.getGradientOf().value_or(DictionaryAttr::get(attention.getContext()));
  NamedAttrList gradientOf(all);
  auto returned = cast<ReturnOp>(attention.getBody().front().getTerminator());
  separateSums(returned);
  for (auto [value, name, type] :
       llvm::zip(returned.getResults(), attention.getResultNames().getAsValueRange<StringAttr>(),
                 attention.getResultTypes().getAsValueRange<TypeAttr>())) {
    std::optional<MutableOperandRange> operand = sumOperandOf(value);
    if (!operand || !operand->empty())
      continue;
    std::string sumName = (kRunningSumPrefix + name).str();
    BlockArgument sum = entry.addArgument(sumName, type);
    operand->assign(sum);
    entry.place(value, sum, name);
    if (Attribute of = all.get(name))
      gradientOf.set(entry.nameOf(sum), of);
  }
  entry.finish();
  if (!gradientOf.empty())
    attention.setGradientOfAttr(gradientOf.getDictionary(attention.getContext()));
}

namespace {
struct AccumulateGradients : polyattn::impl::AccumulateGradientsBase<AccumulateGradients> {
  void runOnOperation() override {
    for (AttentionOp attention : getOperation().getOps<AttentionOp>())
      accumulate(attention);
  }
};
} // namespace
