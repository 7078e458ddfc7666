//===- ForwardEntry.cpp - the forward entry and what it keeps -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directions.h"
#include "mlir/IR/Builders.h"

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

SmallVector<Kept> polyattn::keptOf(AttentionOp attention) {
  SmallVector<Kept> result;
  for (auto attend : attention.getBody().getOps<AttendOp>()) {
    Kept kept;
    NormalizerAttr normalizer = attend.getNormalizer();
    std::string name =
        keepOutput(attention, attend, "output" + std::to_string(result.size()), kept);
    if (normalizer.hasDenominator() || normalizer.isMean())
      kept.factors = name + "_factors";
    result.push_back(kept);
  }
  return result;
}

ArrayAttr polyattn::withStrings(ArrayAttr names, ArrayRef<std::string> more) {
  SmallVector<Attribute> all(names.begin(), names.end());
  for (StringRef name : more)
    all.push_back(StringAttr::get(names.getContext(), name));
  return ArrayAttr::get(names.getContext(), all);
}

/// An attend that gives its factors, too.
static AttendOp withFactors(AttendOp attend) {
  OpBuilder builder(attend);
  OperationState state(attend.getLoc(), attend->getName());
  state.addOperands(attend->getOperands());
  state.addAttributes(attend->getAttrs());
  state.addAttribute(attend.getFactorsAttrName(), builder.getUnitAttr());
  state.addTypes(attend->getResultTypes());
  state.addTypes(FeatureType::vector(attend.getContext(), 2));
  auto result = cast<AttendOp>(builder.create(state));
  attend->replaceAllUsesWith(result->getResults().drop_back());
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

AttentionOp polyattn::buildForward(AttentionOp attention, ArrayRef<Kept> keptOfAttends) {
  AttentionOp forward = cloneAs(attention, "__forward");
  Block &body = forward.getBody().front();
  auto ret = cast<ReturnOp>(body.getTerminator());
  SmallVector<std::string> names;
  SmallVector<Value> values;
  SmallVector<Attribute> types(forward.getResultTypes().begin(), forward.getResultTypes().end());
  auto add = [&](StringRef name, Value value, Type type) {
    names.push_back(name.str());
    values.push_back(value);
    types.push_back(TypeAttr::get(type));
  };
  auto attends = llvm::to_vector(body.getOps<AttendOp>());
  for (auto [attend, kept] : llvm::zip(attends, keptOfAttends)) {
    AttendOp op = kept.factors.empty() ? attend : withFactors(attend);
    if (!kept.output.empty() && !kept.isResult)
      add(kept.output, op.getOutput(), kept.outputType);
    if (!kept.factors.empty())
      add(kept.factors, op.getRowFactors(), rowsType(op.getContext(), 2));
  }
  ret.getResultsMutable().append(values);
  forward.setResultNamesAttr(withStrings(forward.getResultNames(), names));
  forward.setResultTypesAttr(ArrayAttr::get(forward.getContext(), types));
  return forward;
}
