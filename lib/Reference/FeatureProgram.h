//===- FeatureProgram.h - feature programs, one vector at a time -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_FEATUREPROGRAM_H
#define POLYATTN_LIB_REFERENCE_FEATUREPROGRAM_H

#include "FeatureValue.h"
#include "polyattn/Reference/Evaluate.h"
#include "llvm/ADT/DenseMap.h"

namespace polyattn::reference {

/// A weight of one head: its numbers in row-major order.
struct WeightValue {
  std::vector<double> numbers;
};

/// The values of one batch, position and head. `position` is what rope rotates by.
struct Environment {
  int64_t position = 0;
  Rounding rounding;
  llvm::DenseMap<mlir::Value, FeatureValue> features;
  llvm::DenseMap<mlir::Value, WeightValue> weights;
};

/// Evaluates one feature op and binds its result.
void evaluateFeatureOp(mlir::Operation *op, Environment &environment);

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_FEATUREPROGRAM_H
