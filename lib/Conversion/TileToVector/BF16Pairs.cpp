//===- BF16Pairs.cpp - products of pairs of bf16 --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroKernel.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;

namespace {

/// AVX-512's vdpbf16ps: a word of A holds two terms for all lanes, one of B two terms of its lane.
/// Both products are added to the f32 of the lane; numbers below f32's normal range are zero.
class BF16PairsKernel : public MicroKernel {
public:
  int64_t termsPerStep() const override { return 2; }
  Value loadLhs(Emitter &e, Type element, Value pointer, Offset offset,
                Terms terms) const override {
    Value word = e.load(element, pointer, offset);
    if (terms != Terms::All)
      word = arith::AndIOp::create(e, word, e.constant(e.getI32IntegerAttr(maskOf(terms))));
    return e.broadcast(word);
  }
  Value loadRhs(Emitter &e, Type element, Value pointer, Offset offset) const override {
    return e.loadVector(element, pointer, offset);
  }
  Value keep(Emitter &e, Value vector, Terms terms) const override {
    if (terms == Terms::All)
      return vector;
    return arith::AndIOp::create(e, vector, e.splat(e.getI32IntegerAttr(maskOf(terms))));
  }
  Value multiplyAdd(Emitter &e, Value a, Value b, Value sum) const override {
    return e.addPairProducts(a, b, sum);
  }

private:
  /// The first of two terms lies in the low half of a word.
  static int32_t maskOf(Terms terms) { return terms == Terms::First ? 0xffff : -0x10000; }
};

} // namespace

const MicroKernel &tile_to_vector::bf16PairsKernel() {
  static const BF16PairsKernel kernel;
  return kernel;
}
