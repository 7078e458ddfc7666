//===- RowFactors.h - denominators as results -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TRANSFORMS_ROWFACTORS_H
#define POLYATTN_TRANSFORMS_ROWFACTORS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// Lets an attention return, after its other results, the factors of each attend that has a
/// denominator (`factors` of an attend): f32 [B, T, H, 2], the first of which is one over a row's
/// denominator. Those that follow the row's largest score have none, those of a softmax are never
/// near zero: they are left as they are.
void returnRowFactors(AttentionOp attention);

} // namespace polyattn

#endif // POLYATTN_TRANSFORMS_ROWFACTORS_H
