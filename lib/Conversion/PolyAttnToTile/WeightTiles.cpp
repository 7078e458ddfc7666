//===- WeightTiles.cpp - weights of a program as tiles --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightTiles.h"
#include "dialects/PolyAttn/FeatureParts.h"
#include "polyattn/Schedule/KernelFacts.h"

using namespace mlir;
using namespace polyattn;

Value WeightTiles::tensorOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return kernel.getTensor(argument.getArgNumber());
  return passed.at(value);
}

Value WeightTiles::poolOf(KeepOp keep) {
  auto returned = returnedBy(keep->getParentOfType<AttentionOp>());
  return kernel.getTensor(inputs +
                          std::distance(returned.begin(), llvm::find(returned, keep.getResult())));
}

bool WeightTiles::isPerHead(Value weight) {
  if (auto product = weight.getDefiningOp<WeightProductOp>())
    return isPerHead(product.getLhs()) || isPerHead(product.getRhs());
  auto read = weight.getDefiningOp<ReadOp>();
  int64_t rank = cast<MemRefType>(tensorOf(read).getType()).getRank();
  return rank > int64_t(cast<WeightType>(weight.getType()).getShape().size());
}

Value WeightTiles::get(TileBuilder &builder, Value weight, Value head) {
  // One tile serves both sides where the heads share the weight.
  std::pair<Value, Value> key(weight, isPerHead(weight) ? head : Value());
  if (Value tile = tiles.lookup(key))
    return tile;
  OpBuilder::InsertionGuard guard(builder);
  auto product = weight.getDefiningOp<WeightProductOp>();
  return tiles[key] = product ? multiply(builder, product, head)
                              : load(builder, weight.getDefiningOp<ReadOp>(), head);
}

Value WeightTiles::multiply(TileBuilder &builder, WeightProductOp product, Value head) {
  Value lhs = get(builder, product.getLhs(), head), rhs = get(builder, product.getRhs(), head);
  Operation *first = lhs.getDefiningOp(), *second = rhs.getDefiningOp();
  builder.setInsertionPointAfter(first->isBeforeInBlock(second) ? second : first);
  return builder.dot(lhs, rhs, Value(), /*lhsTransposed=*/false);
}

Value WeightTiles::load(TileBuilder &builder, ReadOp read, Value head) {
  // Loaded before the loops of the program, so that it dominates every use of the weight.
  if (isPerHead(read))
    builder.setInsertionPointAfterValue(head);
  else
    builder.setInsertionPointToStart(&kernel.getBody().front());
  ArrayRef<int64_t> shape = cast<WeightType>(read.getType()).getShape();
  Value tensor = tensorOf(read);
  int64_t rank = cast<MemRefType>(tensor.getType()).getRank();
  SmallVector<Value> indices(rank, builder.index(0));
  if (isPerHead(read))
    indices[0] = head;
  bool matrix = shape.size() == 2;
  if (isPartOfWeight(read)) {
    Value rank = tile::ClusterRankOp::create(builder);
    indices.back() = builder.mulIndex(rank, builder.index(shape[1]));
  }
  return tile::LoadOp::create(builder, builder.tileType(shape[0], matrix ? shape[1] : 1), tensor,
                              indices, Value(), /*row_dim=*/matrix ? rank - 2 : rank - 1,
                              /*col_dim=*/matrix ? rank - 1 : -1, /*transposed=*/false);
}
