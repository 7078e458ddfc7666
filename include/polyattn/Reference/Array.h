//===- Array.h - a dense f64 array for the oracle ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_REFERENCE_ARRAY_H
#define POLYATTN_REFERENCE_ARRAY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace polyattn {

/// A row-major array of doubles.
struct Array {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> data;

  Array() = default;
  explicit Array(llvm::ArrayRef<int64_t> sizes) : shape(sizes) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    data.assign(count, 0.0);
  }

  int64_t rank() const { return shape.size(); }
  /// Where the innermost run at the given leading indices starts.
  int64_t offset(llvm::ArrayRef<int64_t> indices) const {
    int64_t result = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      result = result * shape[d] + (d < indices.size() ? indices[d] : 0);
    return result;
  }
  llvm::ArrayRef<double> row(llvm::ArrayRef<int64_t> indices, int64_t length) const {
    return llvm::ArrayRef<double>(data).slice(offset(indices), length);
  }
  /// All that lies at an index of the first dimension.
  llvm::MutableArrayRef<double> slice(int64_t index) {
    size_t count = data.size() / shape[0];
    return llvm::MutableArrayRef<double>(data).slice(index * count, count);
  }
  double &at(llvm::ArrayRef<int64_t> indices) { return data[offset(indices)]; }
  double at(llvm::ArrayRef<int64_t> indices) const { return data[offset(indices)]; }
};

} // namespace polyattn

#endif // POLYATTN_REFERENCE_ARRAY_H
