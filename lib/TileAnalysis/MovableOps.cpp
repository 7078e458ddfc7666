//===- MovableOps.cpp - ops that give the same elsewhere ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MovableOps.h"
#include "dialects/Tile/Inputs.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

bool polyattn::isMovable(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load ? isInput(load.getMemref()) : isPure(op);
}

bool polyattn::haveSameRegions(Operation *a, Operation *b) {
  return llvm::all_of(llvm::zip(a->getRegions(), b->getRegions()), [](auto pair) {
    return OperationEquivalence::isRegionEquivalentTo(&std::get<0>(pair), &std::get<1>(pair),
                                                      OperationEquivalence::IgnoreLocations);
  });
}
