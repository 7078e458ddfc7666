//===- FeatureParts.h - features that programs share ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of a cluster can share the features of an entry: `polyattn.feature_parts = 4` says
// that the body is that of one of four programs. A weight whose columns are features is read with a
// fourth of them, and what is computed from these columns is the program's own. Rows of results are
// the program's terms, which the lowering sums up. Gradients of these weights have its columns.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_FEATUREPARTS_H
#define POLYATTN_DIALECTS_FEATUREPARTS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// On an attention: how many programs share its features.
inline constexpr llvm::StringLiteral kFeaturePartsAttrName = "polyattn.feature_parts";

/// 1 where a program computes all of them.
int64_t featurePartsOf(AttentionOp attention);

/// The type with one part of a weight's columns.
WeightType partOfColumns(WeightType weight, int64_t parts);

/// Whether `part` is what one program has of `whole`, all of it or some of the columns.
bool isWholeOrPart(mlir::Type part, mlir::Type whole, AttentionOp attention);

/// Whether a weight's columns are those of one program.
bool isPartOfWeight(ReadOp read);

/// Whether a vector's elements are features of one program: it is computed from such a weight, not
/// by way of an attend.
bool hasOwnFeatures(mlir::Value vector);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_FEATUREPARTS_H
