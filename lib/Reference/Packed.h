//===- Packed.h - packed sequences, each a call of its own ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What packed sequences mean is what each of them means alone. So the oracle takes a call apart,
// and evaluates the parts as if nothing were packed.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_PACKED_H
#define POLYATTN_LIB_REFERENCE_PACKED_H

#include "polyattn/Entry/Signature.h"
#include "polyattn/Reference/Array.h"

namespace polyattn::reference {

class PackedCall {
public:
  /// `offsets` has N + 1 numbers.
  PackedCall(const CallSizes &sizes, const Array &offsets) : sizes(sizes), offsets(offsets) {}

  int64_t sequences() const { return int64_t(offsets.data.size()) - 1; }
  /// The sizes of sequence `n` as a call of its own.
  CallSizes sizesOf(int64_t n) const;
  /// The part of a tensor that sequence `n` has: its positions, its state, or all of it.
  Array part(const TensorSignature &tensor, const Array &whole, int64_t n) const;
  std::vector<Array> parts(llvm::ArrayRef<TensorSignature> tensors, llvm::ArrayRef<Array> wholes,
                           int64_t n) const;
  /// Adds a sequence's part to a tensor: what all sequences share, a gradient of a weight, adds up.
  void add(const TensorSignature &tensor, const Array &part, int64_t n, Array &whole) const;

private:
  int64_t offset(int64_t n) const { return int64_t(offsets.data[n]); }
  /// Calls `visit` with each element's places in the part and in the whole.
  void forElements(const TensorSignature &tensor, llvm::ArrayRef<int64_t> partShape,
                   const Array &whole, int64_t n,
                   llvm::function_ref<void(int64_t inPart, int64_t inWhole)> visit) const;

  const CallSizes &sizes;
  const Array &offsets;
};

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_PACKED_H
