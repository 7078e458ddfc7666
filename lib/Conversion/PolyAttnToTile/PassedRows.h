//===- PassedRows.h - results of attends of several masks -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result may be computed from attends of different masks or sides, which have kernels of their
// own: the gradient of what queries and keys are both computed from is a sum of two such vectors.
// The last of these kernels computes the result. What it needs of the others these leave in
// workspaces.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PASSEDROWS_H
#define POLYATTN_CONVERSION_PASSEDROWS_H

#include "AttendSet.h"

namespace polyattn {

/// Says which sets compute what. Sets must not be added any more.
class RowPassing {
public:
  /// `sameHeads` says that keys have the heads of queries.
  RowPassing(AttentionOp attention, std::vector<AttendSet> &sets, bool sameHeads);

  /// The set whose programs compute from all of `vectors`: the last one that has an attend which
  /// one of them is computed from. Passes rows of the sets before it to it. Where there is no such
  /// attend, the first set that has rows of queries, of which there must be one.
  AttendSet &computing(llvm::ArrayRef<mlir::Value> vectors);

private:
  void pass(mlir::Value vector, AttendSet &from, AttendSet &to);

  std::vector<AttendSet> &sets;
  bool sameHeads;
  /// A bit for each set that has one of the attends next to a value.
  llvm::DenseMap<mlir::Value, uint32_t> setsOf;
  size_t numPassed = 0;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PASSEDROWS_H
