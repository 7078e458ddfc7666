//===- AttentionClauses.h - where calls begin and states live ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_ATTENTIONCLAUSES_H
#define POLYATTN_DIALECTS_ATTENTIONCLAUSES_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// `first_position`, `slots` and `lengths` name arguments of whole numbers, each another one.
mlir::LogicalResult verifyClauses(AttentionOp op);
/// Results that live in arguments. The body ends in a `return` of as many values as there are
/// results.
mlir::LogicalResult verifyPlaces(AttentionOp op, ReturnOp returned);
/// Gradients that are added to what an argument holds.
mlir::LogicalResult verifySums(AttentionOp op, ReturnOp returned);
/// What slots and lengths ask of the attends.
mlir::LogicalResult verifyDecoding(AttentionOp op, ReturnOp returned);
/// What the rows that are kept of local blocks ask of the attends.
mlir::LogicalResult verifyKept(AttentionOp op);
/// What shared heads ask of the tensors that have them, and of the attends.
mlir::LogicalResult verifySharedHeads(AttentionOp op, ReturnOp returned);
/// Where there are kernels, that they compute all there is to compute.
mlir::LogicalResult verifyKernels(AttentionOp op, ReturnOp returned);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_ATTENTIONCLAUSES_H
