//===- StateSums.cpp - gradients of states that attends share -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSums.h"
#include "BlockState.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;

ArrayAttr StateSums::grid(Builder &b) const {
  auto axis = [&](int64_t dim) {
    return tile::ExtentAttr::dimensionOf(b.getContext(), saved.resultTensor, dim);
  };
  return b.getArrayAttr({axis(/*heads*/ 1), axis(/*batches or packed sequences*/ 0)});
}

void StateSums::build(TileBuilder &b, StringRef entry) const {
  tile::KernelOp kernel = saved.createKernel(b, kernelName(entry), grid(b));
  Value head = tile::ProgramIdOp::create(b, 0);
  SmallVector<Value, 4> at = {tile::ProgramIdOp::create(b, 1), head};
  SmallVector<Value> terms;
  for (Value gradient : op.getGradients())
    terms.push_back(saved.tensorOf(kernel, gradient));
  StoredState sum = StoredState::sumOf(terms, /*normalizers=*/{}, at, /*isTransposed=*/false);
  StoredState result{saved.resultOf(kernel), Value(), at};
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  int64_t features = shape[2], width = shape[3], count = std::gcd(features, 16);
  b.loop(b.index(0), b.index(features), b.index(count), {},
         [&](Value first, ValueRange) -> TileBuilder::Values {
           result.storeRows(b, sum.loadRows(b, first, count, width), first);
           return {};
         });
}
