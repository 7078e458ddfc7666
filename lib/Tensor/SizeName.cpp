//===- SizeName.cpp - sizes that a call decides ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Tensor/SizeName.h"

using namespace polyattn;

std::string polyattn::sizeToString(int64_t size) {
  const char *name = polyattn_size_name(size);
  return name ? name : std::to_string(size);
}

std::optional<SizeName> polyattn::parseSizeName(llvm::StringRef name) {
  for (int64_t size = -1; size >= -POLYATTN_NAMED_SIZES; --size)
    if (name == polyattn_size_name(size))
      return static_cast<SizeName>(size);
  return std::nullopt;
}
