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

#include "FeaturePlan.h"
#include "KernelBuilder.h"
#include "polyattn/Target/GPUDescription.h"

using namespace mlir;
using namespace polyattn;

/// The most programs that the features of all attends can be cut for, each with whole blocks, as
/// long as half of shared memory does not keep a program's share; one, where a block of sums that
/// programs show each other would leave too little of it.
int64_t KernelBuilder::chooseClusterSize() {
  bool hasStates =
      llvm::any_of(set.attends, [](AttendOp attend) { return attend.getStateEvery().has_value(); });
  // States after blocks are those of all features.
  if (options.clusterSize == 1 || hasStates || set.beside || set.isRowsAlone())
    return 1;
  int64_t bytes = 0, shown = 0, largest = options.clusterSize;
  for (auto [attend, schedule] : llvm::zip(set.attends, set.schedules)) {
    if (schedule.form != ScheduleForm::State)
      return 1;
    int64_t features = planFeatures(attend.getKey()).monomials.size();
    while (largest > 1 && features % (schedule.featureBlock * largest))
      largest /= 2;
    int64_t width = cast<FeatureType>(attend.getValue().getType()).getWidth();
    bytes += features * width * GPUDescription::bytesPerStateNumber;
    // A block of values, and of the sums in f32 that each program shows the others.
    int64_t perValue = (AttentionShape::of(attend).isBF16 ? 2 : 4) + 4;
    shown = std::max(shown, schedule.block * width * perValue);
  }
  // The rest is for blocks of features.
  if (shown > options.sharedBytes / 4 * 3)
    return 1;
  // Sizes of weights are known but for the number of heads.
  for (Type type : attention.getBody().getArgumentTypes())
    if (auto tensor = cast<RankedTensorType>(type); tensor.getRank() < 4) {
      int64_t elements = 1;
      for (int64_t size : tensor.getShape())
        elements *= ShapedType::isDynamic(size) ? 1 : size;
      bytes += elements * 2;
    }
  int64_t size = 1;
  while (size < largest && bytes / size > options.sharedBytes / 2)
    size *= 2;
  return size;
}

/// A program loads only its own part of weights that have a column, or an element, for each
/// feature.
void KernelBuilder::narrowWeights() {
  if (set.tensors.cluster == 1 || set.attends.size() > 1)
    return;
  int64_t features = planFeatures(set.attends[0].getKey()).monomials.size();
  int64_t share = features / set.tensors.cluster;
  OpBuilder::InsertionGuard guard(b);
  Block &body = frame->kernel.getBody().front();
  Operation *rank = frame->clusterRank.getDefiningOp();
  rank->moveBefore(&body, body.begin());
  b.setInsertionPointAfter(rank);
  Value begin = arith::MulIOp::create(b, rank->getResult(0), b.index(share));
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
    load.getResult().setType(byRows ? b.tileType(share, 1) : b.tileType(type.getRows(), share));
    for (Operation *user : load->getUsers()) {
      auto slice = cast<tile::SliceOp>(user);
      b.setInsertionPoint(slice);
      OpOperand &offset = offsetOf(slice);
      offset.set(b.createOrFold<arith::SubIOp>(offset.get(), begin));
    }
  }
}
