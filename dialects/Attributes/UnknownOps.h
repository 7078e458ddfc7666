//===- UnknownOps.h - an op that a dialect does not have --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_UNKNOWNOPS_H
#define POLYATTN_DIALECTS_UNKNOWNOPS_H

#include "mlir/IR/OpImplementation.h"

namespace polyattn {

/// Parses an op that its dialect does not have: an error at its place in the text, with the nearest
/// name that the dialect has. For `getParseOperationHook` of dialects.
mlir::ParseResult refuseUnknownOp(mlir::OpAsmParser &parser, mlir::OperationState &state);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_UNKNOWNOPS_H
