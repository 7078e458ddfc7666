//===- Kept.h - calls that read rows of calls before ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call that begins inside of a local block is one that begins with the block, and one whose
// window reaches into the calls before is one that begins earlier: the rows that these calls have
// kept are put in front of the call's own, and their results are left out.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_KEPT_H
#define POLYATTN_LIB_REFERENCE_KEPT_H

#include "SiteVectors.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Reference/Evaluate.h"

namespace polyattn::reference {

/// The rows that an attention keeps, which are none where it has no `keep`.
llvm::SmallVector<KeepOp> keptRowsOf(AttentionOp attention);

/// One batch of a call, with the rows of calls before in front.
class KeptCall {
public:
  KeptCall(AttentionOp attention, const Signature &signature, llvm::ArrayRef<Array> arguments,
           const CallSizes &sizes, int64_t batch);

  /// How many rows are in front.
  int64_t rowsBefore() const { return before; }
  std::vector<Array> arguments() const;
  CallSizes ownSizes() const;
  /// What of the call's selection is of this batch; nothing where `isSelected` is false.
  bool isSelected(const Selection &selection) const;
  Selection own(const Selection &selection) const;
  /// Writes a result's rows but those in front where the batch has them in `whole`.
  void store(const Array &part, Array &whole) const;
  /// Copies the batch's row of a pool, or fills it with `value` where it is not evaluated.
  void storeRow(Array part, Array &pool) const;
  void fillRow(double value, Array &pool) const;

private:
  Array withRows(const Array &whole, mlir::Value argument) const;

  AttentionOp attention;
  const Signature &signature;
  llvm::ArrayRef<Array> given;
  const CallSizes &sizes;
  int64_t batch, slot, first, before;
};

/// The pool that `keep` gives after a call of `length` rows, those in front included.
Array keepRows(KeepOp keep, const CallTensors &tensors, int64_t batch, int64_t length);

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_KEPT_H
