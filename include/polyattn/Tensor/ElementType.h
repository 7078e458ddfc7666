//===- ElementType.h - what tensors hold ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TENSOR_ELEMENTTYPE_H
#define POLYATTN_TENSOR_ELEMENTTYPE_H

#include "polyattn-c/tensor.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace polyattn {

/// The storage types of tensors, by the numbers of polyattn-c/tensor.h; the integer types are for
/// positions. The C API's f64 is none: no kernel stores it.
enum class ElementType : int32_t {
  F32 = POLYATTN_F32,
  F16 = POLYATTN_F16,
  BF16 = POLYATTN_BF16,
  I32 = POLYATTN_I32,
  I64 = POLYATTN_I64,
};

inline int32_t dtypeOf(ElementType type) { return static_cast<int32_t>(type); }
/// None for f64, and for numbers that are no element type.
std::optional<ElementType> elementTypeOf(int32_t dtype);

/// `f32`, `f16`, `bf16`, `i32` or `i64`, as in MLIR.
llvm::StringRef nameOf(ElementType type);
std::optional<ElementType> parseElementType(llvm::StringRef name);

int64_t bytesOf(ElementType type);
inline bool isInteger(ElementType type) {
  return type == ElementType::I32 || type == ElementType::I64;
}

} // namespace polyattn

#endif // POLYATTN_TENSOR_ELEMENTTYPE_H
