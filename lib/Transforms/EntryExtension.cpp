//===- EntryExtension.cpp - more arguments and results --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryExtension.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace polyattn;

EntryExtension::EntryExtension(AttentionOp op)
    : op(op), arguments(op.getArgNames().begin(), op.getArgNames().end()),
      results(op.getResultNames().begin(), op.getResultNames().end()),
      types(op.getResultTypes().begin(), op.getResultTypes().end()), places(results.size(), -1) {
  if (std::optional<ArrayRef<int64_t>> given = op.getResultIn())
    places.assign(given->begin(), given->end());
  for (auto *list : {&arguments, &results})
    for (Attribute name : *list)
      taken.insert(cast<StringAttr>(name).getValue());
}

StringAttr EntryExtension::nameFor(StringRef wanted) {
  std::string name = wanted.str();
  for (int number = 2; !taken.insert(name).second; ++number)
    name = wanted.str() + std::to_string(number);
  return StringAttr::get(op.getContext(), name);
}

BlockArgument EntryExtension::addArgument(StringRef name, Type type) {
  arguments.push_back(nameFor(name));
  return body().addArgument(type, op.getLoc());
}

void EntryExtension::clearResults() {
  for (Attribute name : results)
    taken.erase(cast<StringAttr>(name).getValue());
  for (Attribute name : arguments)
    taken.insert(cast<StringAttr>(name).getValue());
  cast<ReturnOp>(body().getTerminator()).getResultsMutable().clear();
  results.clear();
  types.clear();
  places.clear();
}

size_t EntryExtension::addResult(Value value, Type type, StringRef name) {
  cast<ReturnOp>(body().getTerminator()).getResultsMutable().append(value);
  results.push_back(nameFor(name));
  types.push_back(TypeAttr::get(type));
  places.push_back(-1);
  return results.size() - 1;
}

void EntryExtension::place(Value state, BlockArgument argument, StringRef name) {
  auto values = cast<ReturnOp>(body().getTerminator()).getResults();
  size_t index = llvm::find(values, state) - values.begin();
  if (index == values.size())
    index = addResult(state, state.getType(), name);
  places[index] = argument.getArgNumber();
  types[index] = TypeAttr::get(argument.getType());
}

void EntryExtension::finish() {
  Builder b(op.getContext());
  op.setArgNamesAttr(b.getArrayAttr(arguments));
  op.setResultNamesAttr(b.getArrayAttr(results));
  op.setResultTypesAttr(b.getArrayAttr(types));
  if (llvm::any_of(places, [](int64_t place) { return place >= 0; }))
    op.setResultIn(places);
}

void polyattn::filterResults(AttentionOp op, llvm::function_ref<bool(Value)> keep) {
  assert(!op.getResultIn() && "results are numbered by where they live");
  auto ret = cast<ReturnOp>(op.getBody().front().getTerminator());
  SmallVector<Value> values;
  SmallVector<Attribute> names, types;
  for (auto [value, name, type] :
       llvm::zip(ret.getResults(), op.getResultNames(), op.getResultTypes()))
    if (keep(value)) {
      values.push_back(value);
      names.push_back(name);
      types.push_back(type);
    }
  ret.getResultsMutable().assign(values);
  op.setResultNamesAttr(ArrayAttr::get(op.getContext(), names));
  op.setResultTypesAttr(ArrayAttr::get(op.getContext(), types));
}

RankedTensorType polyattn::stateType(MLIRContext *context, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> shape(2, ShapedType::kDynamic);
  llvm::append_range(shape, sizes);
  return RankedTensorType::get(shape, Float32Type::get(context));
}

SmallVector<Type> polyattn::stateTypesOf(AttendOp attend) {
  MLIRContext *context = attend.getContext();
  int64_t width = attend.getKey().getType().getWidth();
  SmallVector<Type> types = {stateType(context, {width, attend.getValue().getType().getWidth()})};
  if (attend.getNormalizer().hasDenominator())
    types.push_back(stateType(context, {width}));
  return types;
}

AttendOp polyattn::withFinalState(AttendOp attend) {
  if (attend.getFinalState())
    return attend;
  OpBuilder builder(attend);
  OperationState state(attend.getLoc(), attend->getName());
  state.addOperands(attend->getOperands());
  state.addAttributes(attend->getAttrs());
  state.addAttribute(attend.getFinalStateAttrName(), builder.getUnitAttr());
  state.addTypes(attend.getOutput().getType());
  state.addTypes(stateTypesOf(attend));
  auto result = cast<AttendOp>(builder.create(state));
  attend.getOutput().replaceAllUsesWith(result.getOutput());
  attend.erase();
  return result;
}

std::pair<AttendOp, Attribute> polyattn::findSharedState(AttentionOp op,
                                                         ArrayRef<AttendOp> attends) {
  llvm::SmallDenseSet<Value> seen;
  for (AttendOp attend : attends)
    for (Value state : {attend.getInitialState(), attend.getInitialNormalizer()})
      if (state && !seen.insert(state).second)
        return {attend, op.getArgNames()[cast<BlockArgument>(state).getArgNumber()]};
  return {};
}

void polyattn::addInitialState(AttendOp attend, EntryExtension &entry) {
  if (attend.getInitialState())
    return;
  SmallVector<Type> types = stateTypesOf(attend);
  attend.getInitialStateMutable().assign(entry.addArgument("state", types[0]));
  if (types.size() > 1)
    attend.getInitialNormalizerMutable().assign(entry.addArgument("state_normalizer", types[1]));
}
