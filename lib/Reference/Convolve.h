//===- Convolve.h - the pairs of a convolution ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_CONVOLVE_H
#define POLYATTN_LIB_REFERENCE_CONVOLVE_H

#include "Evaluator.h"

namespace polyattn::reference {

/// Which number of a filter multiplies x_j in y_i.
class LagOfPair {
public:
  LagOfPair(bool isReversed, bool isCircular, int64_t lags, int64_t positions);
  /// Nothing where the pair does not count.
  std::optional<int64_t> operator()(int64_t i, int64_t j) const;

private:
  bool isReversed, isCircular;
  int64_t lags, positions;
};

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_CONVOLVE_H
