//===- GroupSums.h - rows of keys, sums over groups of query heads *- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_GROUPSUMS_H
#define POLYATTN_CONVERSION_GROUPSUMS_H

#include "KernelInfo.h"

namespace polyattn {

/// What programs of query heads leave for the kernel that adds up the heads of a group.
class GroupParts {
public:
  GroupParts(const KernelInfo &info, const KernelFrame &frame) : info(info), frame(frame) {}
  /// i1: whether the group has one head, whose program writes the results.
  mlir::Value isOneHead(TileBuilder &builder) const;
  /// The workspace of an attend's parts of its final state; null where that is no sum of heads.
  mlir::Value ofState(AttendOp attend) const;

private:
  const KernelInfo &info;
  const KernelFrame &frame;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_GROUPSUMS_H
