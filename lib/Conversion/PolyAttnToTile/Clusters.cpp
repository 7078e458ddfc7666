//===- Clusters.cpp - programs of a cluster share a head's features -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state and weights that one multiprocessor cannot keep would come from the L2 cache for every
// block of positions. Two of them keep half each, compute with half of the features, and add what
// they have of O and Z.
//
//===----------------------------------------------------------------------===//

#include "OpenKernel.h"

using namespace mlir;
using namespace polyattn;

/// A program loads only its own part of weights that have a column, or an element, for each
/// feature.
void OpenKernel::narrowWeights() {
  const KernelInfo &info = lowering.info;
  TileBuilder &b = lowering.b;
  if (cluster == 1 || info.attends.size() > 1)
    return;
  int64_t features = AttendOp(info.attends[0]).getKey().getType().getWidth();
  int64_t own = features / cluster;
  OpBuilder::InsertionGuard guard(b);
  Block &body = frame.kernel.getBody().front();
  Operation *rank = frame.clusterRank.getDefiningOp();
  rank->moveBefore(&body, body.begin());
  b.setInsertionPointAfter(rank);
  Value begin = arith::MulIOp::create(b, rank->getResult(0), b.index(own));
  for (auto load : body.getOps<tile::LoadOp>()) {
    tile::TileType type = load.getResult().getType();
    bool byRows = type.getColumns() == 1;
    auto offsetOf = [&](tile::SliceOp slice) -> OpOperand & {
      return byRows ? slice.getRowMutable() : slice.getColumnMutable();
    };
    // Slices at constants are of what is no feature.
    bool isCut = (byRows ? type.getRows() : type.getColumns()) == features &&
                 llvm::all_of(load->getUsers(), [&](Operation *user) {
                   auto slice = dyn_cast<tile::SliceOp>(user);
                   return slice && !getConstantIntValue(offsetOf(slice).get());
                 });
    if (!isCut)
      continue;
    int64_t dimension = byRows ? load.getRowDim() : load.getColDim();
    OpOperand &index = load.getIndicesMutable()[dimension];
    index.set(begin);
    load.getResult().setType(byRows ? b.tileType(own, 1) : b.tileType(type.getRows(), own));
    for (Operation *user : load->getUsers()) {
      auto slice = cast<tile::SliceOp>(user);
      b.setInsertionPoint(slice);
      OpOperand &offset = offsetOf(slice);
      offset.set(b.createOrFold<arith::SubIOp>(offset.get(), begin));
    }
  }
}
