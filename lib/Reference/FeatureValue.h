//===- FeatureValue.h - one vector of features, unexpanded ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_FEATUREVALUE_H
#define POLYATTN_LIB_REFERENCE_FEATUREVALUE_H

#include "polyattn/Features/Structure.h"
#include <optional>
#include <vector>

namespace polyattn::reference {

/// Where a vector stands whose score is a number of a table (`relative`).
struct LagPlace {
  int64_t position;
  bool isTwoSided, repeatsLast;
};

/// A vector of features as its structure describes it: numbers at the leaves, powers
/// and products above them. `Number` is double, or a variable of a tape.
template <typename Number> struct FeatureValue {
  Structure structure = Structure::vector(1);
  std::vector<Number> numbers;     // of a plain vector, or of the table of lags
  std::vector<FeatureValue> parts; // of a power, product, concatenation or exponential
  double factor = 1;               // c of `scale`
  bool absolute = false;           // |score| of a power
  std::optional<LagPlace> lags = {};

  static FeatureValue vector(std::vector<Number> numbers) {
    FeatureValue value;
    value.structure = Structure::vector(numbers.size());
    value.numbers = std::move(numbers);
    return value;
  }
};

/// <query, key> by the rules of semantics.md, section 3; both have one structure. The sides differ
/// where a score is one of the lag, from the key to the query.
double score(const FeatureValue<double> &query, const FeatureValue<double> &key);

/// Which of the `count` numbers of a table is that of the lag from `key` to `query`; none where the
/// score is 0.
std::optional<size_t> placeOfLag(const LagPlace &query, const LagPlace &key, int64_t count);

/// All D features, in the order of the structure.
template <typename Number> std::vector<Number> expand(const FeatureValue<Number> &value);

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_FEATUREVALUE_H
