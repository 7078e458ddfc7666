//===- HostTensor.h - a typed, strided tensor in host memory ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a caller hands to a compiled entry and gets back from it. No MLIR here.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ENTRY_HOSTTENSOR_H
#define POLYATTN_ENTRY_HOSTTENSOR_H

#include "polyattn/Tensor/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace polyattn {

/// The nearest number of the type, ties to even; what storing and loading gives.
double roundTo(ElementType type, double value);

/// Loads or stores one element. A double holds integers up to 2^53; `loadInteger` loads all.
double loadElement(ElementType type, const void *address);
void storeElement(ElementType type, void *address, double value);
int64_t loadInteger(ElementType type, const void *address);

/// A tensor in host memory. Copies share the storage.
struct HostTensor {
  ElementType type = ElementType::F32;
  llvm::SmallVector<int64_t, 4> sizes;
  /// In elements. The innermost is 1.
  llvm::SmallVector<int64_t, 4> strides;
  /// The first element.
  void *data = nullptr;
  std::shared_ptr<void> storage;
  /// Elements of the storage, those between the rows included.
  int64_t storageElements = 0;

  int64_t rank() const { return sizes.size(); }
  /// The number of elements, the product of the sizes.
  int64_t count() const;
  /// Calls `visit(linear, address)` for every element in row-major order.
  void forEach(llvm::function_ref<void(int64_t linear, void *address)> visit) const;
  /// Writes NaN to the whole storage, so that what a kernel leaves unwritten is seen.
  void poison() const;
  /// True where the storage outside the tensor's elements still is what `poison` left. The
  /// elements themselves are not looked at.
  bool paddingIsPoison() const;
};

/// How the rows of a new tensor lie in memory.
enum class Layout {
  Contiguous,
  /// Every dimension but the innermost has a gap behind it, so that no stride is a product of
  /// sizes.
  Padded,
};

/// Copies all elements to a tensor of the same type and sizes.
void copyElements(const HostTensor &from, const HostTensor &to);

/// A new tensor, poisoned. Fails where its size overflows or memory is short.
llvm::Expected<HostTensor> allocateTensor(ElementType type, llvm::ArrayRef<int64_t> sizes,
                                          Layout layout = Layout::Contiguous);

/// `[1, 16, 4, 64]`
std::string formatSizes(llvm::ArrayRef<int64_t> sizes);

} // namespace polyattn

#endif // POLYATTN_ENTRY_HOSTTENSOR_H
