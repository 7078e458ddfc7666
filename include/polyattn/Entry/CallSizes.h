//===- CallSizes.h - the sizes that a call binds ----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ENTRY_CALLSIZES_H
#define POLYATTN_ENTRY_CALLSIZES_H

#include <cstdint>

namespace polyattn {

/// B, T, Tk, H, Hkv, L, P and N of one call.
struct CallSizes {
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, kvHeads = 0;
  /// Rows of tables of positions, where a call begins at any of them; 0 where there are none.
  int64_t rows = 0;
  /// Slots of pools of states; 0 where there are none.
  int64_t slots = 0;
  /// Packed sequences; 0 where none are packed.
  int64_t sequences = 0;
};

} // namespace polyattn

#endif // POLYATTN_ENTRY_CALLSIZES_H
