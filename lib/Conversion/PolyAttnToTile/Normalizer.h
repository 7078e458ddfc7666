//===- Normalizer.h - denominators of attentions ----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_NORMALIZER_H
#define POLYATTN_CONVERSION_NORMALIZER_H

#include "TileBuilder.h"
#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// What a denominator is built from.
struct RowScores {
  mlir::Value sum;     // of the scores
  mlir::Value largest; // null where the normalizer does not ask for it
  mlir::Value unit;    // what both are multiplied by; null for 1
};

/// The denominator of one row, as `normalizer` builds it (NormalizerAttr).
mlir::Value denominatorOf(ElementBuilder &builder, NormalizerAttr normalizer, RowScores row);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_NORMALIZER_H
