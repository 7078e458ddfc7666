//===- FormConvolutions.h - kernels of convolutions -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TRANSFORMS_FORMCONVOLUTIONS_H
#define POLYATTN_LIB_TRANSFORMS_FORMCONVOLUTIONS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

bool hasConvolutions(AttentionOp attention);
/// Moves the ops of an attention with convolutions into kernels: one for each convolution and each
/// gradient of a filter, and between them kernels of the rows that they take and give. Fails with a
/// diagnostic where there are attends as well.
mlir::LogicalResult formConvolutions(AttentionOp attention);

} // namespace polyattn

#endif // POLYATTN_LIB_TRANSFORMS_FORMCONVOLUTIONS_H
