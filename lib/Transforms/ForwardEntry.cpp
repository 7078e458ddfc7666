//===- ForwardEntry.cpp - the forward entry and what it keeps -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directions.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Leaves.h"
#include "mlir/IR/Builders.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/RowFactors.h"

using namespace mlir;
using namespace polyattn;

RankedTensorType polyattn::rowsType(MLIRContext *context, int64_t width) {
  constexpr int64_t any = ShapedType::kDynamic;
  return RankedTensorType::get({any, any, any, width}, Float32Type::get(context));
}

/// Says what is kept of an attend's output, and gives the output's name. Where there is a
/// denominator, dO . o nearly cancels against the dO . v of the keys, and digits that a 16-bit
/// result has lost of o are those of the difference: then o is kept in f32, by another name.
static std::string keepOutput(AttentionOp attention, AttendOp attend, std::string name,
                              Kept &kept) {
  auto ret = cast<ReturnOp>(attention.getBody().front().getTerminator());
  bool hasDenominator = attend.getNormalizer().hasDenominator();
  std::string output = name;
  kept.outputType = rowsType(attend.getContext(), attend.getOutput().getType().getWidth());
  for (auto [value, resultName, resultType] :
       llvm::zip(ret.getResults(), attention.getResultNames(), attention.getResultTypes())) {
    if (value != attend.getOutput() || kept.isResult)
      continue;
    auto tensor = cast<RankedTensorType>(cast<TypeAttr>(resultType).getValue());
    name = cast<StringAttr>(resultName).getValue().str();
    kept.isResult = !hasDenominator || tensor.getElementType().isF32();
    output = kept.isResult ? name : name + "_f32";
    if (kept.isResult)
      kept.outputType = tensor;
  }
  bool isUsed = llvm::any_of(attend.getOutput().getUsers(),
                             [](Operation *user) { return !isa<ReturnOp>(user); });
  if (isUsed || hasDenominator)
    kept.output = output;
  return name;
}

/// Why the gradients of an attend's query are not read from states after blocks; empty where they
/// are.
static StringRef noBlockStates(AttendOp attend, int64_t every) {
  if (attend.getMask() != Mask::Causal)
    return "its mask is not causal";
  if (attend.getLocalQuery())
    return "it has local vectors";
  if (!attend->getParentOfType<AttentionOp>().hasLocalBlocksOf(every))
    return "the local blocks of an attend beside it are no multiples of that";
  if (attend.getInitialState())
    return "it begins with a state";
  if (!mayHaveState(attend))
    return "it has no state";
  if (ScheduleAttr schedule = attend.getScheduleAttr())
    if (schedule.getForm() != ScheduleForm::State || schedule.getBlock() != every)
      return "its schedule has no state, or blocks of another length";
  if (attend.getKey().getType().getWidth() > kMaxScheduledFeatures)
    return "its state is too large to keep";
  if (!hasFeaturesOfLeaves(attend.getKey().getType().getStructure()))
    return "its features are products, whose gradients are contracted as they are formed";
  return "";
}

/// The states that are kept; null where none can be.
static std::optional<BlockStates> keptStatesOf(AttendOp attend, int64_t every) {
  if (!every || !noBlockStates(attend, every).empty())
    return std::nullopt;
  return BlockStates{attend.getKey().getType().getWidth(), attend.getValue().getType().getWidth(),
                     every, attend.getNormalizer().hasDenominator()};
}

/// An option that nothing follows is a mistake.
static LogicalResult checkStateEvery(AttentionOp attention, ArrayRef<Kept> kept, int64_t every) {
  if (llvm::any_of(kept, [](const Kept &one) { return one.statesLayout.has_value(); }))
    return success();
  for (auto attend : attention.getBody().getOps<AttendOp>())
    return attend.emitOpError("keeps no states for its gradients, as `state_every` asks: ")
           << noBlockStates(attend, every);
  return success();
}

FailureOr<SmallVector<Kept>> polyattn::keptOf(AttentionOp attention, int64_t stateEvery) {
  SmallVector<Kept> result;
  for (auto attend : attention.getBody().getOps<AttendOp>()) {
    Kept kept;
    NormalizerAttr normalizer = attend.getNormalizer();
    std::string name =
        keepOutput(attention, attend, "output" + std::to_string(result.size()), kept);
    if (normalizer.hasDenominator() || normalizer.isMean())
      kept.factors = name + "_factors";
    kept.statesLayout = keptStatesOf(attend, stateEvery);
    if (kept.statesLayout)
      kept.states = name + "_states";
    result.push_back(kept);
  }
  if (stateEvery && failed(checkStateEvery(attention, result, stateEvery)))
    return failure();
  return result;
}

ArrayAttr polyattn::withStrings(ArrayAttr names, ArrayRef<std::string> more) {
  SmallVector<Attribute> all(names.begin(), names.end());
  for (StringRef name : more)
    all.push_back(StringAttr::get(names.getContext(), name));
  return ArrayAttr::get(names.getContext(), all);
}

/// An attend that gives its factors and states, too.
static AttendOp withKept(AttendOp attend, const Kept &kept) {
  if (kept.factors.empty() && kept.states.empty())
    return attend;
  OpBuilder builder(attend);
  OperationState state(attend.getLoc(), attend->getName());
  state.addOperands(attend->getOperands());
  state.addAttributes(attend->getAttrs());
  state.addTypes(attend->getResultTypes());
  if (!kept.factors.empty()) {
    state.addAttribute(attend.getFactorsAttrName(), builder.getUnitAttr());
    state.addTypes(FeatureType::vector(attend.getContext(), attend.getNormalizer().countFactors()));
  }
  if (!kept.states.empty()) {
    state.addAttribute(attend.getStateEveryAttrName(),
                       builder.getI64IntegerAttr(kept.statesLayout->length));
    state.addTypes(FeatureType::vector(attend.getContext(), kept.statesLayout->width()));
  }
  auto result = cast<AttendOp>(builder.create(state));
  attend->replaceAllUsesWith(result->getResults().take_front(attend->getNumResults()));
  attend.erase();
  return result;
}

AttentionOp polyattn::cloneAs(AttentionOp attention, StringRef suffix) {
  OpBuilder builder(attention->getContext());
  builder.setInsertionPointAfter(attention);
  auto clone = cast<AttentionOp>(builder.clone(*attention));
  clone.setSymName((attention.getSymName() + suffix).str());
  return clone;
}

/// Lets an attention return what is kept of its attends, after its other results.
static void returnKept(AttentionOp attention, ArrayRef<Kept> keptOfAttends) {
  Block &body = attention.getBody().front();
  auto ret = cast<ReturnOp>(body.getTerminator());
  SmallVector<std::string> names;
  SmallVector<Value> values;
  SmallVector<Attribute> types(attention.getResultTypes().begin(),
                               attention.getResultTypes().end());
  auto add = [&](StringRef name, Value value, Type type) {
    names.push_back(name.str());
    values.push_back(value);
    types.push_back(TypeAttr::get(type));
  };
  auto attends = llvm::to_vector(body.getOps<AttendOp>());
  for (auto [attend, kept] : llvm::zip(attends, keptOfAttends)) {
    AttendOp op = withKept(attend, kept);
    if (!kept.output.empty() && !kept.isResult)
      add(kept.output, op.getOutput(), kept.outputType);
    if (!kept.factors.empty())
      add(kept.factors, op.getRowFactors(),
          rowsType(op.getContext(), op.getNormalizer().countFactors()));
    if (!kept.states.empty())
      add(kept.states, op.getKeptStates(), rowsType(op.getContext(), kept.statesLayout->width()));
  }
  ret.getResultsMutable().append(values);
  attention.setResultNamesAttr(withStrings(attention.getResultNames(), names));
  attention.setResultTypesAttr(ArrayAttr::get(attention.getContext(), types));
}

AttentionOp polyattn::buildForward(AttentionOp attention, ArrayRef<Kept> keptOfAttends) {
  AttentionOp forward = cloneAs(attention, "__forward");
  returnKept(forward, keptOfAttends);
  return forward;
}

void polyattn::returnRowFactors(AttentionOp attention) {
  SmallVector<Kept> kept;
  for (auto attend : attention.getBody().getOps<AttendOp>()) {
    NormalizerAttr normalizer = attend.getNormalizer();
    Kept &one = kept.emplace_back();
    if (normalizer.hasDenominator() && normalizer.allowsState() && !attend.getFactors())
      one.factors = "factors" + std::to_string(kept.size());
  }
  returnKept(attention, kept);
}
