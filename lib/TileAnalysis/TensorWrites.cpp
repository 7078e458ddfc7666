//===- TensorWrites.cpp - what writes the tensors of a kernel -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorWrites.h"
#include "dialects/Tile/Inputs.h"

using namespace mlir;
using namespace polyattn;

/// Whether tensors of these types can be one.
static bool canBeOne(MemRefType a, MemRefType b) {
  auto canBeEqual = [](int64_t a, int64_t b) {
    return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
  };
  return a.getElementType() == b.getElementType() && a.getRank() == b.getRank() &&
         llvm::all_of_zip(a.getShape(), b.getShape(), canBeEqual);
}

bool polyattn::mayWrite(Operation *op, Value tensor) {
  auto type = cast<MemRefType>(tensor.getType());
  return op
      ->walk([&](Operation *inner) {
        Value written = tile::writtenTensor(inner);
        return WalkResult(failure(written && canBeOne(cast<MemRefType>(written.getType()), type)));
      })
      .wasInterrupted();
}

bool polyattn::mayWriteBetween(Operation *first, Operation *last, Value tensor) {
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (mayWrite(op, tensor))
      return true;
  return false;
}
