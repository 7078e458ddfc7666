//===- Windows.h - pairs that are known to be zero --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_WINDOWS_H
#define POLYATTN_SCHEDULE_WINDOWS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// The positions that a query sees on either side, its own one included: by the attend's `window`,
/// or by tables of distances that end, with `beyond = zero`. None where it sees all that the mask
/// leaves.
std::optional<int64_t> windowOf(AttendOp attend);

/// The positions before a query, its own one included, that calls which continue a sequence keep
/// for it: its window, or all that sequences may have, by a table with `beyond = error`.
std::optional<int64_t> keptWindowOf(AttendOp attend);

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_WINDOWS_H
