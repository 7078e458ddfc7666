//===- SizeName.h - sizes that a call decides -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TENSOR_SIZENAME_H
#define POLYATTN_TENSOR_SIZENAME_H

#include "polyattn-c/sizes.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace polyattn {

/// The sizes that a call's tensors decide, by the numbers of polyattn-c/sizes.h. Where the sizes of
/// a tensor are described, a number of at least 0 is a size, and one below is a name.
enum SizeName : int64_t {
  kBatch = POLYATTN_SIZE_B,
  kPositions = POLYATTN_SIZE_T,
  kKeyPositions = POLYATTN_SIZE_TK,
  kHeads = POLYATTN_SIZE_H,
  kKeyHeads = POLYATTN_SIZE_HKV,
  kTableRows = POLYATTN_SIZE_L,
  kSlots = POLYATTN_SIZE_P,
  kSequences = POLYATTN_SIZE_N,
  kSequenceBounds = POLYATTN_SIZE_N1,
};

/// The place of a name in a table of all POLYATTN_NAMED_SIZES.
constexpr size_t indexOf(SizeName name) { return static_cast<size_t>(-1 - name); }

/// `B`, `T`, `Tk`, `H`, `Hkv`, `L`, `P`, `N`, `N+1`, or the number.
std::string sizeToString(int64_t size);
std::optional<SizeName> parseSizeName(llvm::StringRef name);

} // namespace polyattn

#endif // POLYATTN_TENSOR_SIZENAME_H
