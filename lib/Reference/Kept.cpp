//===- Kept.cpp - calls that read rows of calls before --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kept.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

static bool isPositions(int64_t dim) { return dim == kPositions || dim == kKeyPositions; }

/// Packed sequences are taken apart before, so that there is one of them.
static bool isOfBatches(const TensorSignature &tensor) {
  return !tensor.dims.empty() && (tensor.dims[0] == kBatch || tensor.dims[0] == kSequences);
}

SmallVector<KeepOp> reference::keptRowsOf(AttentionOp attention) {
  return llvm::to_vector(attention.getBody().getOps<KeepOp>());
}

/// Rings of several windows may differ; positions that a shorter one has no more are in no window.
static int64_t largestRing(AttentionOp attention) {
  int64_t rows = 0;
  for (KeepOp keep : keptRowsOf(attention))
    rows = std::max(rows, keep.getRows());
  return rows;
}

KeptCall::KeptCall(AttentionOp attention, const Signature &signature, ArrayRef<Array> arguments,
                   const CallSizes &sizes, int64_t batch)
    : attention(attention), signature(signature), given(arguments), sizes(sizes), batch(batch) {
  CallTensors tensors(attention, arguments, sizes.heads);
  slot = tensors.slot(batch);
  KeepOp keep = keptRowsOf(attention)[0];
  first = slot < 0 ? 0 : tensors.firstPosition(batch);
  before = keep.isRing() ? std::min(first, largestRing(attention)) : first % keep.getRows();
}

/// [1, before + T, ...] of [B, T, ...]. What is in front of queries gives results that nobody sees.
Array KeptCall::withRows(const Array &whole, Value argument) const {
  SmallVector<int64_t> shape(whole.shape);
  shape[0] = 1;
  shape[1] += before;
  Array part(shape);
  int64_t heads = shape[2], width = shape.size() > 3 ? shape[3] : 1;
  KeepOp keep = KeepOp::of(argument);
  for (int64_t i = 0; i < shape[1]; ++i)
    for (int64_t h = 0; h < heads; ++h) {
      ArrayRef<double> row;
      if (i >= before)
        row = whole.row({batch, i - before, h}, width);
      else if (keep)
        row = given[cast<BlockArgument>(keep.getPool()).getArgNumber()].row(
            {slot, h, (first - before + i) % keep.getRows()}, width);
      llvm::copy(row, part.data.begin() + part.offset({0, i, h}));
    }
  return part;
}

std::vector<Array> KeptCall::arguments() const {
  std::vector<Array> result;
  for (auto [i, tensor] : llvm::enumerate(signature.arguments)) {
    const Array &whole = given[i];
    if (!isOfBatches(tensor)) {
      result.push_back(whole);
    } else if (tensor.dims.size() > 1 && isPositions(tensor.dims[1])) {
      result.push_back(withRows(whole, AttentionOp(attention).getBody().getArgument(i)));
    } else {
      Array &part = result.emplace_back(ArrayRef<int64_t>{1});
      part.data[0] = whole.data[batch];
      if (signature.firstPosition == i)
        part.data[0] -= double(before);
      if (signature.lengths == i)
        part.data[0] += double(before);
    }
  }
  return result;
}

CallSizes KeptCall::ownSizes() const {
  CallSizes own = sizes;
  own.batch = 1;
  own.queries += before;
  own.keys += before;
  return own;
}

bool KeptCall::isSelected(const Selection &selection) const {
  return selection.heads.empty() ||
         llvm::any_of(selection.heads, [&](auto head) { return head.first == batch; });
}

Selection KeptCall::own(const Selection &selection) const {
  Selection own;
  for (auto [b, h] : selection.heads)
    if (b == batch)
      own.heads.push_back({0, h});
  for (int64_t row : selection.rows)
    own.rows.push_back(row + before);
  return own;
}

void KeptCall::store(const Array &part, Array &whole) const {
  int64_t heads = whole.shape[2], width = whole.shape[3];
  for (int64_t i = 0; i < whole.shape[1]; ++i)
    for (int64_t h = 0; h < heads; ++h)
      llvm::copy(part.row({0, i + before, h}, width),
                 whole.data.begin() + whole.offset({batch, i, h}));
}

void KeptCall::storeRow(Array part, Array &pool) const {
  if (slot >= 0)
    llvm::copy(part.slice(slot), pool.slice(slot).begin());
}

void KeptCall::fillRow(double value, Array &pool) const {
  if (slot >= 0)
    llvm::fill(pool.slice(slot), value);
}

Array reference::keepRows(KeepOp keep, const CallTensors &tensors, int64_t batch, int64_t length) {
  Array pool = tensors[keep.getPool()];
  const Array &tensor = tensors[keep.getTensor()];
  int64_t heads = tensor.shape[2], width = tensor.rank() > 3 ? tensor.shape[3] : 1;
  int64_t rows = keep.getRows(), slot = tensors.slot(batch);
  int64_t begin = std::max<int64_t>(length - rows, 0);
  int64_t first = slot < 0 ? 0 : tensors.firstPosition(batch);
  for (int64_t i = begin; i < length; ++i)
    for (int64_t h = 0; h < heads; ++h)
      llvm::copy(tensor.row({batch, i, h}, width),
                 pool.data.begin() + pool.offset({slot, h, (first + i) % rows}));
  return pool;
}
