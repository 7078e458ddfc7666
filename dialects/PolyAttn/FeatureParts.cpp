//===- FeatureParts.cpp - features that programs share --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureParts.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/Dependencies.h"

using namespace mlir;
using namespace polyattn;

int64_t polyattn::featurePartsOf(AttentionOp attention) {
  auto parts = attention->getAttrOfType<IntegerAttr>(kFeaturePartsAttrName);
  return parts ? parts.getInt() : 1;
}

WeightType polyattn::partOfColumns(WeightType weight, int64_t parts) {
  ArrayRef<int64_t> shape = weight.getShape();
  return WeightType::get(weight.getContext(), {shape[0], shape[1] / parts});
}

bool polyattn::isWholeOrPart(Type part, Type whole, AttentionOp attention) {
  if (part == whole)
    return true;
  auto weight = dyn_cast_if_present<WeightType>(whole);
  int64_t parts = featurePartsOf(attention);
  return weight && weight.getShape().size() == 2 && weight.getShape()[1] % parts == 0 &&
         part == partOfColumns(weight, parts);
}

bool polyattn::isPartOfWeight(ReadOp read) {
  return read.getType() != readTypeOf(cast<RankedTensorType>(read.getTensor().getType()));
}

bool polyattn::hasOwnFeatures(Value vector) {
  return walkDependencies(vector, [&](Value value) {
    if (auto read = value.getDefiningOp<ReadOp>())
      return isPartOfWeight(read) ? WalkResult::interrupt() : WalkResult::skip();
    return value.getDefiningOp<AttendOp>() ? WalkResult::skip() : WalkResult::advance();
  });
}
