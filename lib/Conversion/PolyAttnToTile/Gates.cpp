//===- Gates.cpp - what decays a state ------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gates.h"

using namespace mlir;
using namespace polyattn;

bool Gates::differByPosition() const {
  return decay && cast<RankedTensorType>(decay.getType()).getRank() != 1;
}

BlockDecay Gates::inBlock(TileBuilder &b, Value position, Value valid, KeySource source) const {
  if (!exist() || !context.isOrdered())
    return BlockDecay();
  int64_t columns = context.blockOf(source);
  auto equal = [&](Value gate) { return BlockDecay::ofEqualGates(b, gate, columns, valid); };
  if (factors) {
    SmallVector<double> logarithms;
    for (double factor : *factors)
      logarithms.push_back(std::log(factor));
    return equal(b.slice(b.column(logarithms), head(), 1));
  }
  Value tensor = context.frame.input(decay);
  if (!differByPosition())
    return equal(tile::LoadOp::create(b, b.tileType(1, 1), tensor, head(), Value(), -1, -1,
                                      /*transposed=*/false));
  SmallVector<Value> indices = {context.frame.sequence.batch,
                                context.frame.sequence.rowOf(b, position), head()};
  int64_t dimension = 1;
  if (source == KeySource::Cached) {
    tensor = context.frame.weights.poolOf(KeepOp::of(decay));
    indices = {context.frame.sequence.stateRow(), head(), position};
    dimension = 2;
  }
  return BlockDecay::ofGates(b, tile::LoadOp::create(b, b.tileType(1, columns), tensor, indices,
                                                     valid, /*row_dim=*/-1, dimension,
                                                     /*transposed=*/false));
}

Value Gates::ofToken(TileBuilder &b) const {
  if (!exist())
    return {};
  if (factors)
    return b.slice(b.column(std::vector<double>(factors->begin(), factors->end())), head(), 1);
  Value tensor = context.frame.input(decay);
  SmallVector<Value> at = {head()};
  if (differByPosition())
    at = {context.frame.sequence.batch, context.frame.sequence.rowOf(b, b.index(0)), head()};
  return expOf(b, tile::LoadOp::create(b, b.tileType(1, 1), tensor, at, Value(), -1, -1,
                                       /*transposed=*/false));
}
