//===- LargePages.h - a wish for large pages --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ENTRY_LARGEPAGES_H
#define POLYATTN_ENTRY_LARGEPAGES_H

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace polyattn {

/// Asks for large pages in `bytes` bytes from `memory` on, best before they are first touched. The
/// rows of one head lie in more small pages than a processor knows at a time.
inline void adviseLargePages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t page = uintptr_t(2) << 20;
  uintptr_t first = (uintptr_t(memory) + page - 1) / page * page;
  uintptr_t last = (uintptr_t(memory) + bytes) / page * page;
  if (first < last)
    (void)madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE); // only a wish
#else
  (void)memory, (void)bytes;
#endif
}

} // namespace polyattn

#endif // POLYATTN_ENTRY_LARGEPAGES_H
