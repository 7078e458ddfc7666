//===- SumHeadsOp.cpp - gradients of vectors that heads share -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Kernels.h"

using namespace mlir;
using namespace polyattn;

LogicalResult SumHeadsOp::verify() {
  FeatureType type = getVector().getType();
  if (type.getStructure().kind() != Structure::Kind::Vector)
    return emitOpError("C1: expected a plain vector, got ") << type;
  for (Operation *user : usersOf(getResult()))
    if (!isa<ReturnOp>(user))
      return emitOpError("C2: the sum over heads can only be returned, but ")
             << user->getName() << " uses it";
  if (isa<KernelOp>((*this)->getParentOp()) && !getVector().getDefiningOp<KernelOp>())
    return emitOpError("C3: in a kernel the vector is what another kernel yields");
  return success();
}
