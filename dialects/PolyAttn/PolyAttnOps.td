//===- PolyAttnOps.td - the dialect's ops ---------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_OPS
#define POLYATTN_OPS

include "dialects/PolyAttn/PolyAttnBase.td"

include "dialects/PolyAttn/FeatureOps.td"
include "dialects/PolyAttn/AttentionOps.td"
include "dialects/PolyAttn/AttendOp.td"
include "dialects/PolyAttn/StateOps.td"
include "dialects/PolyAttn/GradientOps.td"
include "dialects/PolyAttn/KeepOp.td"
include "dialects/PolyAttn/KernelOps.td"

#endif // POLYATTN_OPS
