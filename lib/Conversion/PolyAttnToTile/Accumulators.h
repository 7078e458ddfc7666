//===- Accumulators.h - what a block of queries has gathered ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ACCUMULATORS_H
#define POLYATTN_CONVERSION_ACCUMULATORS_H

#include "mlir/IR/Value.h"

namespace polyattn {

/// What the queries of a block have gathered from the keys that they have met so far.
struct Accumulators {
  mlir::Value numerator;   // [C x dv]
  mlir::Value denominator; // [C x 1], null without a normalizer
  mlir::Value largest;     // [C x 1], the largest score, where the normalizer asks for it. The
                           // exponents of a softmax are less by it
  /// [C x 1], sums of all pairs but those of rows with themselves, times a vector (attend,
  /// `products`); null where they are not asked for.
  mlir::Value products;
};

/// What a block's rows keep for their gradients (attend, `factors`), both [C x 1]. Of a softmax the
/// first one is the logarithm of the denominator, and the second one null.
struct RowFactors {
  mlir::Value ofNumerator, ofDenominator;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ACCUMULATORS_H
