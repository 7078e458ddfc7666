//===- FeatureRewrites.h - cheaper programs, same features ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TRANSFORMS_FEATUREREWRITES_H
#define POLYATTN_LIB_TRANSFORMS_FEATUREREWRITES_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/PatternMatch.h"

namespace polyattn {

/// Factors move outwards and gather, constants move to the end of sums and products, nested ones
/// flatten, and a projection of a projection is one where that is cheaper.
void populateFeatureRewrites(mlir::RewritePatternSet &patterns);

} // namespace polyattn

#endif // POLYATTN_LIB_TRANSFORMS_FEATUREREWRITES_H
