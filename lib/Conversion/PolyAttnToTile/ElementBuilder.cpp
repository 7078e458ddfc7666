//===- ElementBuilder.cpp - shorthands for elements of a map --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementBuilder.h"

using namespace mlir;
using namespace polyattn;

Value ElementBuilder::sign(Value x) {
  Value positive = select(less(constant(0), x), constant(1), constant(0));
  return select(less(x, constant(0)), constant(-1), positive);
}

Value ElementBuilder::power(Value x, int64_t n) {
  if (n == 0)
    return constant(1);
  Value result;
  for (Value square = x;; square = mul(square, square)) {
    if (n & 1)
      result = result ? mul(result, square) : square;
    if (!(n >>= 1))
      return result;
  }
}
