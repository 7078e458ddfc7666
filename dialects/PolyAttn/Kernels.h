//===- Kernels.h - values of an attention's kernels -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After `--polyattn-form-kernels` attends stand in kernel ops. These functions find the op behind a
// value, and the users of a value, before and after the pass.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_KERNELS_H
#define POLYATTN_DIALECTS_KERNELS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// The value that a kernel yields for its result; any other value itself.
mlir::Value yieldedValue(mlir::Value value);
/// The op that gives such a value, if it is an `Op`.
template <typename Op> Op definingOp(mlir::Value value) {
  mlir::Value yielded = yieldedValue(value);
  return yielded ? yielded.getDefiningOp<Op>() : Op();
}
/// The ops that use a value, with those that use it as a kernel's result.
llvm::SmallVector<mlir::Operation *> usersOf(mlir::Value value);
/// The attends of an attention, also those in kernels, in their order.
llvm::SmallVector<AttendOp> attendsOf(AttentionOp attention);

/// The attends of one sweep over positions are of one kind.
struct AttendKind {
  Mask mask = Mask::Causal;
  bool ofKeys = false;      // rows are those of keys
  bool readsStates = false; // from a tensor, so that blocks may come in any order

  static AttendKind of(AttendOp attend) {
    return {attend.getMask(), attend.getOfKeys(), bool(attend.getBlockStates())};
  }
  bool operator==(const AttendKind &other) const {
    return std::tie(mask, ofKeys, readsStates) ==
           std::tie(other.mask, other.ofKeys, other.readsStates);
  }
};

bool hasKernels(AttentionOp attention);
/// The convolution or the gradient of a filter that a kernel computes; null in other kernels.
mlir::Operation *convolutionIn(KernelOp kernel);
/// Refuses to derive an entry from one that has kernels: entries are derived from attends.
mlir::LogicalResult checkNoKernels(AttentionOp attention);
/// A copy of an attention in which the ops of kernels stand without them, as before
/// `--polyattn-form-kernels`. It has no parent.
mlir::OwningOpRef<AttentionOp> withoutKernels(AttentionOp attention);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_KERNELS_H
