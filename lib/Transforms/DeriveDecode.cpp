//===- DeriveDecode.cpp - an attention that continues sequences in place --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directions.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

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

/// Adds arguments and results to an attention.
class EntryExtension {
public:
  explicit EntryExtension(AttentionOp op)
      : op(op), arguments(op.getArgNames().begin(), op.getArgNames().end()),
        results(op.getResultNames().begin(), op.getResultNames().end()),
        types(op.getResultTypes().begin(), op.getResultTypes().end()), places(results.size(), -1) {
    for (auto *list : {&arguments, &results})
      for (Attribute name : *list)
        taken.insert(cast<StringAttr>(name).getValue());
  }

  BlockArgument addArgument(StringRef name, Type type) {
    arguments.push_back(nameFor(name));
    return body().addArgument(type, op.getLoc());
  }

  /// Makes a final state a result, where it is none, that lives in an argument.
  void place(Value state, BlockArgument argument, StringRef name) {
    ReturnOp returned = cast<ReturnOp>(body().getTerminator());
    auto values = returned.getResults();
    size_t index = llvm::find(values, state) - values.begin();
    if (index == values.size()) {
      returned.getResultsMutable().append(state);
      results.push_back(nameFor(name));
      types.push_back(TypeAttr::get(state.getType()));
      places.push_back(-1);
    }
    places[index] = argument.getArgNumber();
  }

  void finish() {
    Builder b(op.getContext());
    op.setArgNamesAttr(b.getArrayAttr(arguments));
    op.setResultNamesAttr(b.getArrayAttr(results));
    op.setResultTypesAttr(b.getArrayAttr(types));
    op.setResultIn(places);
  }

private:
  Block &body() { return op.getBody().front(); }
  StringAttr nameFor(StringRef wanted) {
    std::string name = wanted.str();
    for (int number = 2; !taken.insert(name).second; ++number)
      name = wanted.str() + std::to_string(number);
    return StringAttr::get(op.getContext(), name);
  }

  AttentionOp op;
  SmallVector<Attribute> arguments, results, types;
  SmallVector<int64_t> places;
  llvm::StringSet<> taken;
};

RankedTensorType stateType(MLIRContext *context, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> shape(2, ShapedType::kDynamic);
  llvm::append_range(shape, sizes);
  return RankedTensorType::get(shape, Float32Type::get(context));
}

/// An attend that gives its final state.
AttendOp withFinalState(AttendOp attend, ArrayRef<Type> states) {
  if (attend.getFinalState())
    return attend;
  OpBuilder builder(attend);
  OperationState state(attend.getLoc(), attend->getName());
  state.addOperands(attend->getOperands());
  state.addAttributes(attend->getAttrs());
  state.addAttribute(attend.getFinalStateAttrName(), builder.getUnitAttr());
  state.addTypes(attend.getOutput().getType());
  state.addTypes(states);
  auto result = cast<AttendOp>(builder.create(state));
  attend.getOutput().replaceAllUsesWith(result.getOutput());
  attend.erase();
  return result;
}

void continueInPlace(AttendOp attend, EntryExtension &entry) {
  MLIRContext *context = attend.getContext();
  int64_t width = cast<FeatureType>(attend.getKey().getType()).getWidth();
  int64_t valueWidth = cast<FeatureType>(attend.getValue().getType()).getWidth();
  bool isNormalized = attend.getNormalizer().hasDenominator();
  SmallVector<Type> types = {stateType(context, {width, valueWidth})};
  if (isNormalized)
    types.push_back(stateType(context, {width}));
  if (!attend.getInitialState()) {
    attend.getInitialStateMutable().assign(entry.addArgument("state", types[0]));
    if (isNormalized)
      attend.getInitialNormalizerMutable().assign(entry.addArgument("state_normalizer", types[1]));
  }
  attend = withFinalState(attend, types);
  entry.place(attend.getFinalStates()[0], cast<BlockArgument>(attend.getInitialState()), "final");
  if (isNormalized)
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
