//===- CreateMap.cpp - a tile, or a tile times factors --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CreateMap.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

Value polyattn::createMap(OpBuilder &builder, Location loc, Value tile, Value factors) {
  SmallVector<Value> inputs = {tile};
  if (factors)
    inputs.push_back(factors);
  auto map = MapOp::create(builder, loc, tile.getType(), inputs);
  OpBuilder::InsertionGuard guard(builder);
  Type element = cast<TileType>(tile.getType()).getElementType();
  Block *body = builder.createBlock(&map.getBody(), {}, SmallVector<Type>(inputs.size(), element),
                                    SmallVector<Location>(inputs.size(), loc));
  Value value = body->getArgument(0);
  if (factors)
    value = arith::MulFOp::create(builder, loc, value, body->getArgument(1));
  YieldOp::create(builder, loc, value);
  return map.getResult();
}
