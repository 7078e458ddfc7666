//===- FeatureOps.td - the algebra of feature vectors ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op works on one vector per batch, position and head. Result types are
// inferred; operand types are written in the short form, `[64]` for a vector and
// `64x256` for a weight. The file of an op's family is beside its NAMEOps.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURE_OPS
#define POLYATTN_FEATURE_OPS

include "dialects/PolyAttn/ProductOps.td"
include "dialects/PolyAttn/StructureOps.td"
include "dialects/PolyAttn/WeightOps.td"
include "dialects/PolyAttn/ElementwiseOps.td"
include "dialects/PolyAttn/NormOps.td"
include "dialects/PolyAttn/PositionOps.td"
include "dialects/PolyAttn/ConvolveOps.td"

#endif // POLYATTN_FEATURE_OPS
