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
template <typename Number> struct WeightValue {
  std::vector<Number> numbers;
};

/// The values of one batch, position and head. `position` is what rope rotates by.
template <typename Number> struct Environment {
  int64_t position = 0;
  Rounding rounding; // of f64; variables of a tape are exact
  llvm::DenseMap<mlir::Value, FeatureValue<Number>> features;
  llvm::DenseMap<mlir::Value, WeightValue<Number>> weights;
};

/// Evaluates one feature op and binds its result.
template <typename Number>
void evaluateFeatureOp(mlir::Operation *op, Environment<Number> &environment);

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_FEATUREPROGRAM_H
