//===- TensorWrites.h - what writes the tensors of a kernel -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_TENSORWRITES_H
#define POLYATTN_LIB_TILEANALYSIS_TENSORWRITES_H

#include "mlir/IR/Operation.h"

namespace polyattn {

/// Whether an op, or one inside of it, may write memory of a kernel's tensor. A result can live in
/// an argument, which has its elements and sizes then; other tensors share no memory.
bool mayWrite(mlir::Operation *op, mlir::Value tensor);

/// The same of the ops from `first` on up to `last` in one block, `last` not among them.
bool mayWriteBetween(mlir::Operation *first, mlir::Operation *last, mlir::Value tensor);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_TENSORWRITES_H
