//===- Fma.cpp - products by fused multiply-adds --------------------------===//
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

class FmaKernel : public MicroKernel {
public:
  int64_t termsPerStep() const override { return 1; }
  Value loadLhs(Emitter &e, Type element, Value pointer, Offset offset, Terms) const override {
    return e.broadcast(e.load(element, pointer, offset));
  }
  Value loadRhs(Emitter &e, Type element, Value pointer, Offset offset) const override {
    return e.loadVector(element, pointer, offset);
  }
  Value keep(Emitter &, Value vector, Terms) const override { return vector; }
  Value multiplyAdd(Emitter &e, Value a, Value b, Value sum) const override {
    return e.fma(a, b, sum);
  }
};

} // namespace

const MicroKernel &tile_to_vector::fmaKernel() {
  static const FmaKernel kernel;
  return kernel;
}
