//===- ElementEmission.h - elements of feature ops --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ELEMENTEMISSION_H
#define POLYATTN_CONVERSION_ELEMENTEMISSION_H

#include "TileBuilder.h"
#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// One element of the op's result from the elements of its operands. NaN goes through: comparisons
/// choose the branch that keeps it.
mlir::Value emitElement(ElementBuilder &builder, ElementwiseOpInterface op, mlir::ValueRange in);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ELEMENTEMISSION_H
