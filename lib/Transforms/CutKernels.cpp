//===- CutKernels.cpp - say how launches divide the heads of kernels ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureParts.h"
#include "polyattn/Schedule/Invariant.h"
#include "polyattn/Schedule/KernelFacts.h"
#include "polyattn/Target/GPUDescription.h"
#include "polyattn/Transforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_CUTKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

/// The most programs with sums of weights' gradients of their own, in the form with a state and in
/// the form `chunkwise`. The second is about four for each multiprocessor of a large GPU.
static constexpr int64_t kMostSummingPrograms = 64, kMostSummingProgramsOfBlocks = 512;

/// The most programs of clusters with such sums: two for each multiprocessor of a large GPU.
static constexpr int64_t kMostSummingCTAs = 256;

/// The features of a program that adds the sums of segments, one after another. It waits for each:
/// many programs do so together.
static constexpr int64_t kPrefixFeatures = 32;

/// What a position costs where prefix states are summed up, in percent of what it costs in all.
static int64_t prefixCostPercent(const KernelFacts &kernel) {
  double prefix = 0, all = 0;
  for (auto [attend, schedule] : llvm::zip(kernel.attends, kernel.schedules)) {
    PositionCosts costs = PositionCosts::of(attend, schedule);
    prefix += costs.prefix;
    all += costs.all;
  }
  return std::llround(100 * prefix / all);
}

/// How many programs share the features of a head: as many as it takes to keep the state and the
/// weights in half of their shared memory. A state and weights that one multiprocessor cannot keep
/// would come from the L2 cache for every block of positions. One, where a block of the sums that
/// programs show each other would leave too little of the other half.
static int64_t chooseClusterSize(const KernelFacts &kernel, int64_t largest, int64_t sharedBytes) {
  largest = std::min(largest, kernel.mostInCluster());
  if (largest == 1)
    return 1;
  int64_t bytes = 0, shown = 0;
  for (auto [attend, schedule] : llvm::zip(kernel.attends, kernel.schedules)) {
    int64_t features = AttendOp(attend).getKey().getType().getWidth();
    int64_t width = AttendOp(attend).getValue().getType().getWidth();
    bytes += features * width * GPUDescription::bytesPerStateNumber;
    // A block of values, and of the sums in f32 that each program shows the others.
    int64_t perValue = (AttentionShape::of(attend).isBF16 ? 2 : 4) + 4;
    shown = std::max(shown, schedule.block * width * perValue);
  }
  // The rest is for blocks of features.
  if (shown > sharedBytes / 4 * 3)
    return 1;
  // Sizes of weights are known but for the number of heads.
  for (Type type : kernel.attention.getBody().getArgumentTypes())
    if (auto tensor = cast<RankedTensorType>(type); tensor.getRank() < 4) {
      int64_t elements = 1;
      for (int64_t size : tensor.getShape())
        elements *= ShapedType::isDynamic(size) ? 1 : size;
      bytes += elements * 2;
    }
  int64_t size = 1;
  while (size < largest && bytes / size > sharedBytes / 2)
    size *= 2;
  return size;
}

/// The blocks of features in a program that sums up a segment: two in gradients, if the program has
/// registers for their sums and memory for the features. Blocks are shorter there than these allow,
/// since a program of queries has them in memory beside all that a gradient loads.
static int64_t chooseSumBlocks(const KernelFacts &kernel) {
  if (!kernel.segment() || !kernel.attention.getGradientOf())
    return 1;
  for (auto [attend, schedule] : llvm::zip(kernel.attends, kernel.schedules)) {
    int64_t width = AttendOp(attend).getValue().getType().getWidth();
    int64_t most = std::min(carriedFeatures(width), kMostChunkFeatures);
    if (schedule.segment && 2 * schedule.featureBlock > most)
      return 1;
  }
  return 2;
}

/// The channels of a program, which its transforms have in pairs, as parts of complex numbers: one
/// pair in each lane of a vector. So many divide all channels; an odd number has no pairs.
static int64_t chooseChannels(Operation *convolution) {
  constexpr int64_t most = 32;
  int64_t width = cast<FeatureType>(convolution->getOperand(0).getType()).getWidth();
  int64_t channels = std::min(most, width);
  while (width % channels || (width % 2 == 0 && channels % 2 != 0))
    --channels;
  return channels;
}

namespace {
struct CutKernelsPass : polyattn::impl::CutKernelsBase<CutKernelsPass> {
  using CutKernelsBase::CutKernelsBase;

  void runOnOperation() override {
    bool isValid = subsegments >= 1 && subsegments <= CutAttr::kMostSubsegments &&
                   clusterSize >= 1 && clusterSize <= CutAttr::kLargestCluster &&
                   llvm::isPowerOf2_64(clusterSize);
    if (!isValid) {
      getOperation().emitError("expected subsegments from 1 to ")
          << CutAttr::kMostSubsegments << " and a cluster-size of 1, 2, 4 or "
          << CutAttr::kLargestCluster << ", got " << int64_t(subsegments) << " and "
          << int64_t(clusterSize);
      return signalPassFailure();
    }
    for (AttentionOp attention : getOperation().getOps<AttentionOp>())
      for (KernelOp kernel : attention.getBody().getOps<KernelOp>())
        if (!kernel.getCut())
          if (CutAttr cut = chooseCut(kernel))
            kernel.setCutAttr(cut);
  }

private:
  /// Null where one program computes a head.
  CutAttr chooseCut(KernelOp op) {
    if (Operation *convolution = convolutionIn(op))
      return CutAttr::get(op.getContext(), 1, 0, 0, 1, 0, 0, 1, false, chooseChannels(convolution));
    KernelFacts kernel(op, op.getBody());
    bool isWhole = isInvariant(getOperation());
    // The body of one of several programs is cut already.
    int64_t shares = featurePartsOf(kernel.attention);
    bool mayBeCut = !isWhole && shares == 1;
    int64_t splits = cutHeads && mayBeCut ? kernel.mostSplits() : 1;
    // Parts of the features do no work twice; segments are for what has too few features.
    bool hasSegments = splits == 1 && cutPositions && mayBeCut && kernel.canCutPositions();
    // What a launch cuts by features is not there for a cluster to share.
    int64_t cluster = splits > 1 ? 1 : chooseClusterSize(kernel, clusterSize, sharedBytes);
    if (shares > 1)
      cluster = shares;
    int64_t parts = 0;
    if (kernel.sumsWeights)
      parts = anySumsBlocks(kernel.attention)
                  ? kMostSummingProgramsOfBlocks
                  : std::min(kMostSummingPrograms, kMostSummingCTAs / cluster);
    int64_t prefixFeatures = kernel.segment() ? kPrefixFeatures : 0;
    bool blocks = cutsBlocks(kernel);
    if (splits == 1 && !hasSegments && cluster == 1 && !parts && !prefixFeatures && !blocks)
      return {};
    return CutAttr::get(op.getContext(), splits, hasSegments ? int64_t(subsegments) : 0,
                        hasSegments ? prefixCostPercent(kernel) : 0, cluster, parts, prefixFeatures,
                        chooseSumBlocks(kernel), blocks, /*channels=*/0);
  }

  /// Parts of all blocks add to sums of their own more often than parts of the batches.
  bool cutsBlocks(const KernelFacts &kernel) const {
    return cutBlocks && kernel.canCutBlocks() && (!kernel.sumsWeights || cutBlocksOfSums);
  }

  /// Whether a kernel of the entry sums weights of blocks that it computes each by itself.
  bool anySumsBlocks(AttentionOp attention) const {
    return llvm::any_of(attention.getBody().getOps<KernelOp>(), [&](KernelOp op) {
      KernelFacts kernel(op, op.getBody());
      return kernel.sumsWeights && (kernel.segment() > 0 || cutsBlocks(kernel));
    });
  }
};
} // namespace
