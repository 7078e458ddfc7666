//===- DeriveStates.cpp - what segments of a sequence add to states -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Segments of one sequence compose through states: with S_b what a segment adds to a state that
// begins with zeros, and G_b the product of its decays, the state after it is S_b + G_b S_a. The
// same goes for gradients of states, from the last segment to the first.
//
//===----------------------------------------------------------------------===//

#include "Directions.h"
#include "EntryExtension.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_DERIVESTATES
#define GEN_PASS_DEF_DERIVEGRADIENTSTATES
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

//===----------------------------------------------------------------------===//
// What does not compose
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kFails = "has no states that segments compose by: ";

static LogicalResult checkAttend(AttendOp attend) {
  if (attend.getMask() != Mask::Causal)
    return attend.emitOpError(kFails) << "with this mask a query sees keys of later segments";
  if (std::string reason = noStateOf(attend); !reason.empty())
    return attend.emitOpError(kFails) << reason;
  if (attend.hasDecayOfFeatures())
    return attend.emitOpError(kFails) << "its decay is one of each feature";
  if (attend.getSliding())
    return attend.emitOpError(kFails) << "its local window slides, so that queries of a segment "
                                         "see keys of the one before";
  int64_t width = attend.getKey().getType().getWidth();
  if (width > AttendOp::kMaxStateWidth)
    return attend.emitOpError(kFails) << "one of " << width << " features is too large to hold";
  if (attend.getFactors() || attend.getStateEvery() || attend.getProducts())
    return attend.emitOpError("gives what gradients are made of, which segments do not compose by");
  return success();
}

/// The attends of an attention that composes; fails with a diagnostic otherwise.
static FailureOr<SmallVector<AttendOp>> composingAttends(AttentionOp attention) {
  if (failed(checkNoKernels(attention)))
    return failure();
  if (attention.getSlots() || attention.getLengths() || attention.getResultIn())
    return attention.emitOpError("decodes: its states live in its arguments, or its batches have "
                                 "lengths, and segments do not compose by them");
  auto attends = llvm::to_vector(attention.getBody().getOps<AttendOp>());
  for (auto convolution : attention.getBody().getOps<ConvolveOp>())
    return convolution.emitOpError(kFails) << "its rows depend on all rows before them";
  if (attends.empty())
    return attention.emitOpError("has no attend, so no states that segments compose by");
  for (Operation &op : attention.getBody().front())
    if (op.hasTrait<OnlyInGradients>())
      return op.emitOpError("is a gradient, which segments do not compose by");
  for (AttendOp attend : attends)
    if (failed(checkAttend(attend)))
      return failure();
  if (auto [attend, name] = findSharedState(attention, attends); attend)
    return attend.emitOpError(kFails)
           << "it begins with " << name
           << ", as another attend does, and in a later segment they begin with two; give each "
              "attend a state of its own";
  return attends;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {

/// The names that an attention has for results that are states; empty for others.
class ResultNames {
public:
  explicit ResultNames(AttentionOp attention) {
    auto values = cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
    for (auto [value, name] : llvm::zip(values, attention.getResultNames()))
      names.try_emplace(value, cast<StringAttr>(name).getValue().str());
  }
  std::string nameOf(Value state, StringRef otherwise) const {
    auto it = names.find(state);
    return it == names.end() ? otherwise.str() : it->second;
  }

private:
  llvm::DenseMap<Value, std::string> names;
};

/// The product of the decays of all positions, times `before`, as the final state of an attend
/// that begins with that, and to which no key adds anything.
AttendOp productOfDecays(AttendOp attend, Value before) {
  OpBuilder builder(attend->getContext());
  builder.setInsertionPointAfter(attend);
  Location loc = attend.getLoc();
  MLIRContext *context = attend.getContext();
  Value zero = ConstantOp::create(builder, loc, APFloat(0.0), /*width=*/1);
  return AttendOp::create(builder, loc, zero, zero, zero, /*local_query=*/Value(),
                          /*local_key=*/Value(), attend.getDecay(), before,
                          /*initial_normalizer=*/Value(), /*block_states=*/Value(),
                          /*products=*/Value(), /*state=*/Value(), attend.getMaskAttr(),
                          NormalizerAttr::getNone(context),
                          /*score_scale=*/FloatAttr(), attend.getDecayFactorsAttr(),
                          attend.getGateHeadsAttr(), attend.getGroupingAttr(),
                          /*block=*/IntegerAttr(), /*signed_scores=*/UnitAttr(),
                          /*initial_transposed=*/UnitAttr(), /*final_state=*/UnitAttr::get(context),
                          /*factors=*/UnitAttr(), /*schedule=*/ScheduleAttr(),
                          /*of_keys=*/UnitAttr(), /*state_every=*/IntegerAttr(),
                          /*window=*/IntegerAttr(), /*sliding=*/UnitAttr(),
                          attend.getPrecisionAttr());
}

void addStates(AttendOp attend, const ResultNames &names, EntryExtension &entry) {
  for (auto [i, state] : llvm::enumerate(attend.getFinalStates()))
    entry.addResult(state, state.getType(),
                    names.nameOf(state, i == 0 ? "final" : "final_normalizer"));
}

void addDecay(AttendOp attend, EntryExtension &entry) {
  RankedTensorType type = stateType(attend.getContext(), {1});
  AttendOp product = productOfDecays(attend, entry.addArgument("decay_before", type));
  entry.addResult(product.getFinalStates()[0], type, "decay");
}

/// Turns an attention into the entry of its states.
FailureOr<AttentionOp> deriveStates(AttentionOp attention, ArrayRef<AttendOp> attends) {
  SmallVector<AttendOp> withStates;
  for (AttendOp attend : attends)
    withStates.push_back(withFinalState(attend));
  ResultNames names(attention);
  EntryExtension entry(attention);
  entry.clearResults();
  for (AttendOp attend : withStates) {
    attend.getInitialStateMutable().clear();
    attend.getInitialNormalizerMutable().clear();
    attend.setInitialTransposed(false);
    addStates(attend, names, entry);
  }
  for (AttendOp attend : withStates)
    if (attend.hasDecay())
      addDecay(attend, entry);
  entry.finish();
  return attention;
}

//===----------------------------------------------------------------------===//
// Their gradients
//===----------------------------------------------------------------------===//

/// Replaces an attention by the entry of the gradients of its states.
FailureOr<AttentionOp> deriveGradientStates(AttentionOp attention, ArrayRef<AttendOp> attends) {
  // What forward entries keep has the names that it has in a pair.
  SmallVector<Kept> kept = *keptOf(attention, /*stateEvery=*/0);
  // The gradients of final states are those of segments to come.
  filterResults(attention, [](Value value) { return isa<FeatureType>(value.getType()); });
  EntryExtension entry(attention);
  SmallVector<unsigned> wanted;
  for (AttendOp attend : attends) {
    addInitialState(attend, entry);
    for (Value state : {attend.getInitialState(), attend.getInitialNormalizer()})
      if (state)
        wanted.push_back(cast<BlockArgument>(state).getArgNumber());
  }
  entry.finish();
  FailureOr<AttentionOp> backward = buildBackward(attention, kept, wanted);
  if (succeeded(backward))
    attention.erase();
  return backward;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Derives an entry from every attention, whose segments compose, and calls it by the attention's
/// name and `suffix`. `derive` erases the attention that it gives another entry for.
LogicalResult
deriveEntries(ModuleOp module, StringRef suffix,
              function_ref<FailureOr<AttentionOp>(AttentionOp, ArrayRef<AttendOp>)> derive) {
  for (AttentionOp attention : llvm::make_early_inc_range(module.getOps<AttentionOp>())) {
    FailureOr<SmallVector<AttendOp>> attends = composingAttends(attention);
    if (failed(attends))
      return failure();
    std::string name = (attention.getSymName() + suffix).str();
    FailureOr<AttentionOp> entry = derive(attention, *attends);
    if (failed(entry))
      return failure();
    entry->setSymName(name);
  }
  return success();
}

struct DeriveStates : polyattn::impl::DeriveStatesBase<DeriveStates> {
  using DeriveStatesBase::DeriveStatesBase;

  void runOnOperation() override {
    if (failed(deriveEntries(getOperation(), "__states", deriveStates)))
      signalPassFailure();
  }
};

struct DeriveGradientStates : polyattn::impl::DeriveGradientStatesBase<DeriveGradientStates> {
  using DeriveGradientStatesBase::DeriveGradientStatesBase;

  void runOnOperation() override {
    if (failed(deriveEntries(getOperation(), "__gradient_states", deriveGradientStates)))
      signalPassFailure();
  }
};

} // namespace
