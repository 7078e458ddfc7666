//===- Leaves.cpp - the plain vectors under a structure -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Leaves.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::hasFeaturesOfLeaves(const Structure &structure) {
  return structure.kind() == Structure::Kind::Vector ||
         (structure.kind() == Structure::Kind::Concat &&
          llvm::all_of(structure.parts(), hasFeaturesOfLeaves));
}

bool polyattn::isLeaf(Value vector) {
  return cast<FeatureType>(vector.getType()).getStructure().kind() == Structure::Kind::Vector &&
         !isa_and_nonnull<ConstantOp, RelativeOp>(vector.getDefiningOp());
}

Value polyattn::withoutScales(Value vector, double &factor) {
  while (auto scale = vector.getDefiningOp<ScaleOp>()) {
    factor *= scale.getFactor().convertToDouble();
    vector = scale.getInput();
  }
  return vector;
}

Value polyattn::withoutScales(Value vector) {
  double factor = 1;
  return withoutScales(vector, factor);
}

ValueRange polyattn::partsOf(Value vector) {
  bool isPlain =
      cast<FeatureType>(vector.getType()).getStructure().kind() == Structure::Kind::Vector;
  Operation *op = vector.getDefiningOp();
  if (isPlain || !op || !op->hasTrait<CombinesScores>())
    return {};
  return op->getOperands();
}

SmallVector<Value> polyattn::leavesOf(Value vector) {
  SmallVector<Value> leaves, pending = {vector};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    ValueRange parts = partsOf(next);
    for (Value part : llvm::reverse(parts))
      pending.push_back(part);
    if (parts.empty() && !isa_and_nonnull<ConstantOp, RelativeOp>(next.getDefiningOp()))
      leaves.push_back(next);
  }
  return leaves;
}
