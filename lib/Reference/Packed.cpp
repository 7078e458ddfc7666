//===- Packed.cpp - packed sequences, each a call of its own --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packed.h"

using namespace polyattn;
using namespace polyattn::reference;

static bool isPositions(int64_t dim) { return dim == kPositions || dim == kKeyPositions; }

CallSizes PackedCall::sizesOf(int64_t n) const {
  CallSizes own = sizes;
  own.queries = own.keys = offset(n + 1) - offset(n);
  own.sequences = 1;
  return own;
}

void PackedCall::forElements(const TensorSignature &tensor, llvm::ArrayRef<int64_t> partShape,
                             const Array &whole, int64_t n,
                             llvm::function_ref<void(int64_t, int64_t)> visit) const {
  llvm::SmallVector<int64_t> index(partShape.size(), 0);
  int64_t count = 1;
  for (int64_t size : partShape)
    count *= size;
  for (int64_t element = 0; element < count; ++element) {
    int64_t rest = element, inWhole = 0, stride = 1;
    for (int64_t d = int64_t(partShape.size()) - 1; d >= 0; --d) {
      int64_t first = isPositions(tensor.dims[d])    ? offset(n)
                      : tensor.dims[d] == kSequences ? n
                                                     : 0;
      inWhole += (first + rest % partShape[d]) * stride;
      rest /= partShape[d];
      stride *= whole.shape[d];
    }
    visit(element, inWhole);
  }
}

Array PackedCall::part(const TensorSignature &tensor, const Array &whole, int64_t n) const {
  llvm::SmallVector<int64_t> shape(whole.shape);
  for (auto [size, dim] : llvm::zip_equal(shape, tensor.dims))
    if (isPositions(dim))
      size = offset(n + 1) - offset(n);
    else if (dim == kSequences)
      size = 1;
  Array part(shape);
  forElements(tensor, shape, whole, n,
              [&](int64_t inPart, int64_t inWhole) { part.data[inPart] = whole.data[inWhole]; });
  return part;
}

std::vector<Array> PackedCall::parts(llvm::ArrayRef<TensorSignature> tensors,
                                     llvm::ArrayRef<Array> wholes, int64_t n) const {
  std::vector<Array> result;
  for (auto [tensor, whole] : llvm::zip_equal(tensors, wholes))
    result.push_back(part(tensor, whole, n));
  return result;
}

void PackedCall::add(const TensorSignature &tensor, const Array &part, int64_t n,
                     Array &whole) const {
  forElements(tensor, part.shape, whole, n,
              [&](int64_t inPart, int64_t inWhole) { whole.data[inWhole] += part.data[inPart]; });
}
