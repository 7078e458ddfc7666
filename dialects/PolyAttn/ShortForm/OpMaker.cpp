//===- OpMaker.cpp - builds the ops that expressions stand for ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/OpMaker.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

bool shortform::isWeight(Value value) { return value && isa<WeightType>(value.getType()); }
bool shortform::isVector(Value value) { return value && isa<FeatureType>(value.getType()); }

StringRef shortform::kindOf(Meaning meaning) {
  if (meaning.isNumber())
    return "a number";
  if (isWeight(meaning.value))
    return "a weight";
  if (isVector(meaning.value))
    return "a vector";
  auto tensor = cast<RankedTensorType>(meaning.value.getType());
  if (tensor.getElementType().isInteger())
    return "an argument of whole numbers";
  if (isa<OpResult>(meaning.value))
    return "a state";
  Type type = readTypeOf(tensor);
  if (!type)
    return "a decay or a state";
  return isa<WeightType>(type) ? "a weight" : "a vector";
}

Location OpMaker::at(SMLoc loc) {
  Location here = parser.getEncodedSourceLoc(loc);
  return callers.empty() ? here : Location(CallSiteLoc::get(here, callers.back()));
}

InFlightDiagnostic OpMaker::error(SMLoc loc) {
  InFlightDiagnostic diagnostic = errorAt(parser, loc);
  if (!callers.empty())
    diagnostic.attachNote(callers.back()) << "the map is used here";
  return diagnostic;
}

LogicalResult OpMaker::addStep(SMLoc loc) {
  if (session.addSteps(1))
    return success();
  return error(loc) << "the expressions of a spec have at most " << ReadingLimits::kSteps
                    << " parts, maps counted wherever they are used";
}

LogicalResult OpMaker::addIndices(SMLoc loc, int64_t count) {
  if (session.addIndices(count))
    return success();
  return error(loc) << "a spec selects at most " << ReadingLimits::kIndices << " elements";
}

FailureOr<Operation *> OpMaker::insert(SMLoc loc, const OperationState &state) {
  // A structure is as long as its code, so that many long ones count as more ops.
  int64_t count = 1;
  for (Type type : state.types)
    if (auto feature = dyn_cast<FeatureType>(type))
      count += int64_t(feature.getCode().size()) / 64;
  if (!session.addOperations(count))
    return FailureOr<Operation *>(error(loc) << "a spec has at most " << ReadingLimits::kOperations
                                             << " ops, maps counted wherever they are used");
  return builder.create(state);
}

FailureOr<Value> OpMaker::read(SMLoc loc, Meaning meaning) {
  if (Value known = meaning.isNumber() ? Value() : reads.lookup(meaning.value))
    return known;
  if (isWeight(meaning.value) || isVector(meaning.value))
    return meaning.value;
  Type type;
  if (isa_and_nonnull<BlockArgument>(meaning.value))
    type = readTypeOf(cast<RankedTensorType>(meaning.value.getType()));
  if (!type)
    return FailureOr<Value>(error(loc) << "expected a vector or a weight, got " << kindOf(meaning));
  OperationState state(at(loc), ReadOp::getOperationName());
  state.addOperands(meaning.value);
  state.addTypes(type);
  FailureOr<Operation *> op = insert(loc, state);
  if (failed(op))
    return failure();
  Value result = (*op)->getResult(0);
  reads.try_emplace(meaning.value, result);
  return result;
}

FailureOr<Value> OpMaker::readVector(SMLoc loc, Meaning meaning) {
  FailureOr<Value> value = read(loc, meaning);
  if (succeeded(value) && !isVector(*value))
    return FailureOr<Value>(error(loc) << "expected a vector, got a weight");
  return value;
}
