//===- FeatureValue.h - one vector of features, unexpanded ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_FEATUREVALUE_H
#define POLYATTN_LIB_REFERENCE_FEATUREVALUE_H

#include "polyattn/Features/Structure.h"
#include <vector>

namespace polyattn::reference {

/// A vector of features as its structure describes it: numbers at the leaves, powers
/// and products above them.
struct FeatureValue {
  Structure structure = Structure::vector(1);
  std::vector<double> numbers;     // of a plain vector
  std::vector<FeatureValue> parts; // of a power, product or concatenation
  double factor = 1;               // c of `scale`
  bool absolute = false;           // |score| of a power

  static FeatureValue vector(std::vector<double> numbers);
};

/// <a, b> by the rules of semantics.md, section 3; both have one structure.
double score(const FeatureValue &a, const FeatureValue &b);

/// All D features, in the order of the structure.
std::vector<double> expand(const FeatureValue &value);

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_FEATUREVALUE_H
