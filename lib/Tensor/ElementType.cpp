//===- ElementType.cpp - what tensors hold --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Tensor/ElementType.h"

using namespace polyattn;

std::optional<ElementType> polyattn::elementTypeOf(int32_t dtype) {
  bool isStored = dtype >= POLYATTN_F32 && dtype <= POLYATTN_I64;
  static_assert(POLYATTN_F64 == POLYATTN_I64 + 1,
                "the last one is the only one that is not stored");
  return isStored ? std::optional(static_cast<ElementType>(dtype)) : std::nullopt;
}

llvm::StringRef polyattn::nameOf(ElementType type) { return polyattn_dtype_name(dtypeOf(type)); }

std::optional<ElementType> polyattn::parseElementType(llvm::StringRef name) {
  for (int32_t dtype = POLYATTN_F32; dtype <= POLYATTN_I64; ++dtype)
    if (name == polyattn_dtype_name(dtype))
      return static_cast<ElementType>(dtype);
  return std::nullopt;
}

int64_t polyattn::bytesOf(ElementType type) { return polyattn_dtype_bytes(dtypeOf(type)); }
