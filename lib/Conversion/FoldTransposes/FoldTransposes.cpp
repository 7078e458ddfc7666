//===- FoldTransposes.cpp - element-wise functions turned back ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed from an attend's result is computed of columns, as projections are. The gradient
// of a map without any is element-wise: the result's rows then became columns and rows again.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Inputs.h"
#include "lib/Conversion/Analysis/TileValues.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/Conversion/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace polyattn {
#define GEN_PASS_DEF_FOLDTRANSPOSES
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

static TileType transposed(Value value) {
  TileType type = tileType(value);
  return TileType::get(type.getContext(), type.getColumns(), type.getRows(), type.getElementType());
}

/// Whether the transpose of `value` costs no more than it does: one that is turned back, another
/// way to read a tensor that the kernel does not write, or a number.
static bool isFree(Value value) {
  if (auto load = value.getDefiningOp<LoadOp>())
    return isInput(load.getMemref());
  return value.getDefiningOp<TransposeOp>() || value.getDefiningOp<ConstantOp>();
}

/// Collects the maps that `value` is computed by, operands before users. False where one of them is
/// computed from something whose transpose is not free.
static bool collectMaps(Value value, llvm::SetVector<MapOp> &maps) {
  auto map = value.getDefiningOp<MapOp>();
  if (!map)
    return isFree(value);
  if (maps.contains(map))
    return true;
  bool isFree =
      llvm::all_of(map.getInputs(), [&](Value input) { return collectMaps(input, maps); });
  maps.insert(map);
  return isFree;
}

static Value transpose(OpBuilder &builder, Value value) {
  builder.setInsertionPointAfterValue(value);
  if (auto outer = value.getDefiningOp<TransposeOp>())
    return outer.getSource();
  Operation *turned = builder.clone(*value.getDefiningOp());
  turned->getResult(0).setType(transposed(value));
  if (auto load = dyn_cast<LoadOp>(turned))
    load.setTransposed(!load.getTransposed());
  return turned->getResult(0);
}

static void fold(TransposeOp transposeOp) {
  llvm::SetVector<MapOp> maps;
  if (!transposeOp.getSource().getDefiningOp<MapOp>() ||
      !collectMaps(transposeOp.getSource(), maps))
    return;
  // Nothing is computed twice, and something is turned back.
  bool isAlone = llvm::all_of(maps, [&](MapOp map) {
    return llvm::all_of(map->getUsers(), [&](Operation *user) {
      auto other = dyn_cast<MapOp>(user);
      return user == transposeOp || (other && maps.contains(other));
    });
  });
  bool turnsBack = llvm::any_of(maps, [](MapOp map) {
    return llvm::any_of(map.getInputs(),
                        [](Value input) { return bool(input.getDefiningOp<TransposeOp>()); });
  });
  if (!isAlone || !turnsBack)
    return;
  IRMapping mapping;
  OpBuilder builder(transposeOp);
  for (MapOp map : maps)
    for (Value input : map.getInputs())
      if (!input.getDefiningOp<MapOp>() && !mapping.contains(input))
        mapping.map(input, transpose(builder, input));
  for (MapOp map : maps) {
    builder.setInsertionPoint(map);
    builder.clone(*map, mapping)->getResult(0).setType(transposed(map.getResult()));
  }
  transposeOp.replaceAllUsesWith(mapping.lookup(transposeOp.getSource()));
  transposeOp.erase();
  for (MapOp map : llvm::reverse(maps))
    map.erase();
}

namespace {
struct FoldTransposesPass : polyattn::impl::FoldTransposesBase<FoldTransposesPass> {
  using FoldTransposesBase::FoldTransposesBase;

  void runOnOperation() final {
    SmallVector<TransposeOp> transposes;
    getOperation()->walk([&](TransposeOp op) { transposes.push_back(op); });
    llvm::for_each(transposes, fold);
  }
};
} // namespace
