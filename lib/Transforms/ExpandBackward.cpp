//===- ExpandBackward.cpp - the gradients of an attend as attends ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/GradientBuilder.h"
#include "dialects/PolyAttn/Leaves.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_EXPANDBACKWARD
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

/// Whether the features are those that the leaves have: side by side, none a product.
static bool hasFeaturesOfLeaves(const Structure &structure) {
  return structure.kind() == Structure::Kind::Vector ||
         (structure.kind() == Structure::Kind::Concat &&
          llvm::all_of(structure.parts(), hasFeaturesOfLeaves));
}

/// The mask by which keys see their queries.
static Mask reversed(Mask mask) { return mask == Mask::Causal ? Mask::Anticausal : mask; }

/// Whether the gradients are attends of the vectors that are there.
static bool canExpand(AttendBackwardOp op) {
  bool hasTensors = op.getInitialState() || op.getFinalGradient() ||
                    op.getFinalNormalizerGradient() || op.getLocalQuery();
  bool wantsDecay = op.getDecay() && !op.getDecayGradient().use_empty();
  return hasFeaturesOfLeaves(op.getQuery().getType().getStructure()) && !hasTensors && !wantsDecay;
}

namespace {

/// The attends in place of one op.
class Expansion {
public:
  explicit Expansion(AttendBackwardOp op) : op(op), builder(op) {}

  void run() {
    Mask backwards = reversed(op.getMask());
    Value dN = op.getNumeratorGradient(), v = op.getValue();
    if (op.getDenominatorGradient()) {
      Value one = ConstantOp::create(builder, op.getLoc(), APFloat(1.0), /*width=*/1);
      dN = ConcatOp::create(builder, op.getLoc(), ValueRange{dN, op.getDenominatorGradient()});
      v = ConcatOp::create(builder, op.getLoc(), ValueRange{v, one});
    }
    if (isUsed(op.getQueryLeafGradients()))
      replaceLeaves(op.getQuery(), op.getQueryLeaves(), op.getQueryLeafGradients(),
                    attend(dN, v, op.getKey(), op.getMask()));
    if (isUsed(op.getKeyLeafGradients()))
      replaceLeaves(op.getKey(), op.getKeyLeaves(), op.getKeyLeafGradients(),
                    attend(v, dN, op.getQuery(), backwards));
    if (!op.getValueGradient().use_empty())
      op.getValueGradient().replaceAllUsesWith(
          attend(op.getKey(), op.getQuery(), op.getNumeratorGradient(), backwards));
    op.erase();
  }

private:
  static bool isUsed(ResultRange gradients) {
    return llvm::any_of(gradients, [](Value gradient) { return !gradient.use_empty(); });
  }

  Value attend(Value query, Value key, Value value, Mask mask) {
    MLIRContext *context = op.getContext();
    NormalizerAttr none = NormalizerAttr::getNone(context);
    return AttendOp::create(
               builder, op.getLoc(), query, key, value, /*local_query=*/Value(),
               /*local_key=*/Value(), op.getDecay(), /*initial_state=*/Value(),
               /*initial_normalizer=*/Value(), MaskAttr::get(context, mask), none,
               op.getScoreScaleAttr(), op.getDecayFactorsAttr(), op.getGateHeadsAttr(),
               /*grouping=*/GroupingAttr(), /*block=*/IntegerAttr(), /*signed_scores=*/UnitAttr(),
               /*final_state=*/UnitAttr(), /*factors=*/UnitAttr(), /*schedule=*/ScheduleAttr())
        .getOutput();
  }

  /// Hands the gradient of features on to the leaves, by the rules of the ops between.
  void replaceLeaves(Value features, OperandRange leaves, ResultRange gradients, Value gradient) {
    llvm::SetVector<Value> under;
    under.insert(features);
    for (size_t next = 0; next < under.size(); ++next)
      for (Value part : partsOf(under[next]))
        under.insert(part);
    SmallVector<Operation *> ops;
    for (Value vector : under)
      if (!partsOf(vector).empty())
        ops.push_back(vector.getDefiningOp());
    llvm::sort(ops, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
    GradientBuilder rules(builder, [&](Value vector) { return under.contains(vector); });
    rules.setLocation(op.getLoc());
    rules.addTo(features, gradient);
    for (Operation *inner : ops)
      rules.visit(inner);
    for (auto [leaf, result] : llvm::zip(leaves, gradients))
      result.replaceAllUsesWith(rules.gradientOf(leaf));
  }

  AttendBackwardOp op;
  OpBuilder builder;
};

struct ExpandBackward : polyattn::impl::ExpandBackwardBase<ExpandBackward> {
  void runOnOperation() override {
    SmallVector<AttendBackwardOp> ops;
    getOperation().walk([&](AttendBackwardOp op) {
      if (canExpand(op))
        ops.push_back(op);
    });
    for (AttendBackwardOp op : ops)
      Expansion(op).run();
  }
};

} // namespace
