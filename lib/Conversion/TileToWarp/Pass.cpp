//===- Pass.cpp - --tile-to-warp ------------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EarlyCopies.h"
#include "KernelLowering.h"
#include "Precision.h"
#include "StageWeights.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "polyattn/Target/GPUDescription.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace polyattn {
#define GEN_PASS_DEF_TILETOWARP
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;

/// What the system keeps of each CTA's shared memory.
static constexpr int64_t kReservedBytes = GPUDescription::reservedSharedBytesPerBlock;

/// Only schedules for processors ask for this.
static LogicalResult checkOps(tile::KernelOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (isa<tile::ContractOp>(op))
      return WalkResult(op->emitError("cannot be lowered to a GPU"));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The size of the L1 cache when CTAs take all of a multiprocessor's shared memory.
static constexpr int64_t kLeastCacheBytes = 28 * 1024;

/// The bytes of tables that name the factors of features. Features that products form in registers
/// read a few of their numbers alone.
static int64_t countTableBytes(tile::KernelOp kernel, const ResidencyAnalysis &residency) {
  llvm::DenseSet<Attribute> tables;
  int64_t bytes = 0;
  kernel.walk([&](tile::MonomialsOp monomials) {
    if (residency.isFormedByProducts(monomials))
      return;
    auto add = [&](Attribute table, int64_t numbers) {
      if (table && tables.insert(table).second)
        bytes += numbers * 4;
    };
    add(monomials.getTable(), monomials.getTable().size());
    if (DenseF64ArrayAttr weights = monomials.getWeightsAttr())
      add(weights, weights.size());
  });
  return bytes;
}

/// Whether a loop may have a second iteration: one that is there for a branch has none.
static bool mayRepeat(scf::ForOp loop) {
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  auto isPast = [&](Value end) {
    std::optional<int64_t> number = getConstantIntValue(end);
    return !number || *number > *begin + *step;
  };
  if (!begin || !step)
    return true;
  Value end = loop.getUpperBound();
  auto choice = end.getDefiningOp<arith::SelectOp>();
  return choice ? isPast(choice.getTrueValue()) || isPast(choice.getFalseValue()) : isPast(end);
}

namespace {
struct TileToWarpPass : polyattn::impl::TileToWarpBase<TileToWarpPass> {
  using TileToWarpBase::TileToWarpBase;

  static constexpr int64_t kFewWarps = 4, kManyWarps = 8;

  /// The warps of a kernel's CTAs, and its memory with so many.
  struct Choice {
    int64_t warps = 0;
    MemoryPlan plan;
  };

  /// Four warps, one for each sub-core, have the longest rows and columns of fragments. Eight where
  /// the values that a loop carries would leave four too few registers for products, and where
  /// threads wait for the memory of transforms: more of them have more of it on its way.
  static int64_t warpsByRegisters(tile::KernelOp kernel) {
    int64_t most = 0;
    WalkResult transforms = kernel.walk([](Operation *op) {
      return WalkResult(failure(isa<tile::FourierOp, tile::MultiplySpectraOp>(op)));
    });
    if (transforms.wasInterrupted())
      return kManyWarps;
    kernel.walk([&](scf::ForOp loop) {
      int64_t carried = 0;
      for (Value argument : loop.getRegionIterArgs())
        if (tile::TileType type = tileType(argument); type && !isVector(argument))
          carried += type.getRows() * type.getColumns();
      most = std::max(most, carried);
    });
    int64_t carriedByFew =
        kFewWarps * GPUDescription::warpSize * GPUDescription::carriedNumbersPerThread;
    return most > carriedByFew ? kManyWarps : kFewWarps;
  }

  /// What a kernel does under a plan with as much shared memory as it asks for.
  struct Trial {
    PackedMemory memory;
    MemoryUse use;
    SmallVector<scf::ForOp> pipelinedLoops;
  };

  static FailureOr<Trial> tryPlan(tile::KernelOp kernel, TileToWarpOptions options,
                                  const MemoryPlan &plan, gpu::GPUModuleOp kernels) {
    options.sharedBytes = INT32_MAX;
    KernelLowering trial(kernel, options, plan);
    if (failed(trial.run(kernels)))
      return failure();
    kernels.lookupSymbol<gpu::GPUFuncOp>(kernel.getSymName()).erase();
    MemoryUse use = trial.takeMemoryUse();
    PackedMemory memory = pack(use.requests);
    return Trial{memory, std::move(use), llvm::to_vector(trial.loopsThatCopyAhead())};
  }

  /// The CTAs whose shared memory fits a multiprocessor, up to as many as find registers: most
  /// kernels take this many or more (docs/Kernels.md).
  static int64_t countCTAs(const TileToWarpOptions &options, int64_t sharedBytes) {
    int64_t registers =
        GPUDescription::warpSize * options.warps * GPUDescription::usualRegistersPerThread();
    return std::min(
        GPUDescription::blocksByMemory(sharedBytes, options.sharedBytes + kReservedBytes),
        GPUDescription::registersPerSM / registers);
  }

  /// Whether taking so much shared memory for copies costs no other CTA its place, nor
  /// `cachedBytes` theirs in the L1 cache.
  static bool leavesRoom(const TileToWarpOptions &options, int64_t bytes, int64_t ctas,
                         int64_t cachedBytes) {
    int64_t all = options.sharedBytes + kReservedBytes + kLeastCacheBytes;
    int64_t taken = countCTAs(options, bytes) * (bytes + kReservedBytes);
    return countCTAs(options, bytes) >= ctas && (!cachedBytes || taken + cachedBytes <= all);
  }

  /// Lets loops copy a block ahead if two blocks of what they copy have place beside all that the
  /// plan has in shared memory, and take no other CTA's. `taken` is what the plan takes.
  static LogicalResult copyAhead(MemoryPlan &plan, PackedMemory &taken, tile::KernelOp kernel,
                                 const TileToWarpOptions &options, gpu::GPUModuleOp kernels) {
    SmallVector<scf::ForOp> loops;
    kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (mayRepeat(loop))
        loops.push_back(loop);
    });
    int64_t tables = countTableBytes(kernel, ResidencyAnalysis(kernel, options.warps, plan));
    // Takes these loops' copies into the plan, all or none; returns the loops that have any.
    auto tryCopies = [&](ArrayRef<scf::ForOp> ofLoops, bool ofMappedLoads,
                         int64_t ctas) -> FailureOr<SmallVector<scf::ForOp>> {
      MemoryPlan ahead = plan;
      ahead.doubleBufferedLoops.insert(ofLoops.begin(), ofLoops.end());
      ahead.copiesMappedLoads = ofMappedLoads;
      FailureOr<Trial> both = tryPlan(kernel, options, ahead, kernels);
      if (failed(both))
        return failure();
      int64_t bytes = both->memory.bytes;
      if (bytes <= plan.sharedCapacity && leavesRoom(options, bytes, ctas, tables)) {
        plan = ahead;
        taken = both->memory;
      }
      return both->pipelinedLoops;
    };
    int64_t ctas = countCTAs(options, taken.bytes);
    FailureOr<SmallVector<scf::ForOp>> tried = tryCopies(loops, /*ofMappedLoads=*/false, ctas);
    WalkResult mapped = kernel.walk([](tile::LoadOp load) {
      return isReadByMap(load) ? WalkResult::interrupt() : WalkResult::advance();
    });
    // With all that is read on its way ahead, two CTAs wait less than more that load what they
    // need.
    if (succeeded(tried) && mapped.wasInterrupted())
      tried = tryCopies(loops, /*ofMappedLoads=*/true, std::min<int64_t>(ctas, 2));
    if (failed(tried) || !plan.doubleBufferedLoops.empty() || tried->size() < 2)
      return LogicalResult(tried);
    // Where not all loops have place for two blocks, some may.
    for (scf::ForOp loop : *tried)
      if (failed(tryCopies(loop, /*ofMappedLoads=*/false, ctas)))
        return failure();
    return success();
  }

  /// Decides whether loops copy a block ahead, and where everything is in shared memory.
  static LogicalResult finish(MemoryPlan &plan, tile::KernelOp kernel,
                              const TileToWarpOptions &options, gpu::GPUModuleOp kernels) {
    FailureOr<Trial> trial = tryPlan(kernel, options, plan, kernels);
    if (failed(trial))
      return failure();
    PackedMemory taken = trial->memory;
    if (options.pipelineCopies && failed(copyAhead(plan, taken, kernel, options, kernels)))
      return failure();
    // Where it does not fit, tiles that find no place are in the workspace.
    if (taken.bytes <= options.sharedBytes)
      plan.sharedOffsets = taken.offsets;
    return success();
  }

  // Lowered once or twice to see what the tiles take, once or twice to see what all takes.
  static FailureOr<MemoryPlan> choosePlan(tile::KernelOp kernel, const TileToWarpOptions &options,
                                          gpu::GPUModuleOp kernels) {
    for (bool copies : {true, false}) {
      MemoryPlan plan = MemoryPlan::minimal(kernel, options, copies);
      FailureOr<Trial> tiles = tryPlan(kernel, options, plan, kernels);
      if (failed(tiles))
        return failure();
      int64_t taken = tiles->memory.bytes;
      if (copies && taken > options.sharedBytes)
        continue;
      // Four warps leave a multiprocessor waiting: two CTAs of them share it where they can.
      // Clusters are there to keep more than that.
      int64_t half = (options.sharedBytes - kReservedBytes) / 2;
      bool shares = options.warps <= kFewWarps && taken <= half && !kernel.getCluster();
      plan.sharedCapacity = shares ? half : options.sharedBytes;
      plan.assignRemaining(kernel, plan.sharedCapacity - taken);
      if (failed(finish(plan, kernel, options, kernels)))
        return failure();
      return plan;
    }
    llvm_unreachable("a plan without copies is taken");
  }

  /// Whether a plan gives up nothing of another one.
  static bool keepsAllOf(const MemoryPlan &plan, const MemoryPlan &other) {
    return plan.sharedCapacity == other.sharedCapacity && !plan.sharedOffsets.empty() &&
           plan.workspaceStates.size() == other.workspaceStates.size() &&
           plan.bf16Copies.size() == other.bf16Copies.size() &&
           plan.doubleBufferedLoops.size() == other.doubleBufferedLoops.size() &&
           plan.copiesMappedLoads == other.copiesMappedLoads;
  }

  /// Stages the weights that find room in the loop and nothing else loses its own for.
  static LogicalResult stageWeights(tile::KernelOp &kernel, MemoryPlan &plan,
                                    const TileToWarpOptions &options, gpu::GPUModuleOp kernels) {
    auto keptNowhere = [&](tile::KernelOp kernel, const MemoryPlan &plan) {
      return weightsKeptNowhere(kernel, ResidencyAnalysis(kernel, options.warps, plan));
    };
    SmallVector<tile::LoadOp> weights = keptNowhere(kernel, plan);
    size_t left = weights.size();
    for (size_t i = 0; i < weights.size(); ++i) {
      if (!canStage(weights[i]))
        continue;
      IRMapping mapping;
      auto staged = cast<tile::KernelOp>(OpBuilder(kernel).clone(*kernel, mapping));
      auto inStaged = [&](tile::LoadOp load) {
        return mapping.lookup(load.getResult()).getDefiningOp<tile::LoadOp>();
      };
      MemoryPlan before = MemoryPlan::minimal(staged, options, /*copies=*/true);
      stageWeight(inStaged(weights[i]), ResidencyAnalysis(staged, options.warps, before));
      FailureOr<MemoryPlan> after = choosePlan(staged, options, kernels);
      if (failed(after))
        return failure();
      bool isBetter = keepsAllOf(*after, plan) && keptNowhere(staged, *after).size() < left;
      if (isBetter) {
        for (tile::LoadOp &weight : weights)
          weight = inStaged(weight);
        std::swap(kernel, staged);
        plan = *after;
        --left;
      }
      staged.erase();
    }
    return success();
  }

  /// Moves loads up as far as their memory has room that nothing else loses.
  static LogicalResult startCopiesEarly(tile::KernelOp kernel, MemoryPlan &plan,
                                        const TileToWarpOptions &options,
                                        gpu::GPUModuleOp kernels) {
    if (!options.pipelineCopies || plan.sharedOffsets.empty())
      return success();
    FailureOr<Trial> before = tryPlan(kernel, options, plan, kernels);
    if (failed(before))
      return failure();
    int64_t ctas = countCTAs(options, before->memory.bytes);
    ResidencyAnalysis residency(kernel, options.warps, plan);
    // What passes through the cache takes place, too: a block of a loop outweighs that, one load
    // for a block does not.
    int64_t cached = countTableBytes(kernel, residency) * 3 / 2;
    auto fits = [&](int64_t bytes) {
      return bytes <= before->memory.bytes ||
             (bytes <= plan.sharedCapacity && leavesRoom(options, bytes, ctas, cached));
    };
    EarlyCopies early(kernel, residency, std::move(before->use), fits);
    if (!early.moveLoads())
      return success();
    MemoryPlan ahead = plan;
    ahead.earlyLoads = early.newCopies();
    ahead.sharedOffsets.clear();
    FailureOr<Trial> after = tryPlan(kernel, options, ahead, kernels);
    if (failed(after))
      return failure();
    if (!fits(after->memory.bytes)) {
      early.undo();
      return success();
    }
    plan = ahead;
    plan.sharedOffsets = after->memory.offsets;
    return success();
  }

  static FailureOr<Choice> plan(tile::KernelOp kernel, TileToWarpOptions options, int64_t warps,
                                gpu::GPUModuleOp kernels) {
    options.warps = warps;
    FailureOr<MemoryPlan> plan = choosePlan(kernel, options, kernels);
    if (failed(plan))
      return failure();
    return Choice{warps, *plan};
  }

  /// The names of kernels that are launched for each segment of positions, a set for each entry:
  /// the choice of segments gives them about as many programs.
  SmallVector<SmallVector<StringRef>> kernelsOfSegments() {
    SmallVector<SmallVector<StringRef>> names;
    for (auto entry : getOperation().getOps<tile::EntryOp>()) {
      SmallVector<StringRef> &own = names.emplace_back();
      for (auto stage : entry.getOps<tile::StageOp>())
        if (llvm::any_of(stage.getPrograms().getAsRange<tile::ExtentAttr>(), [](auto extent) {
              return extent.getBase() == tile::ExtentBase::Segments;
            }))
          own.push_back(stage.getKernel());
    }
    return names;
  }

  /// Chooses warps and memory for each kernel. A CTA that takes the shared memory of a
  /// multiprocessor has all of its sub-cores, too: with two warps on each, one issues where the
  /// other one waits. The kernels that are launched with as many programs then have a
  /// multiprocessor for each CTA as well.
  LogicalResult choose(ArrayRef<tile::KernelOp> all, const TileToWarpOptions &options,
                       gpu::GPUModuleOp kernels, llvm::StringMap<Choice> &choices) {
    llvm::StringSet<> alone;
    for (tile::KernelOp kernel : all) {
      int64_t number = options.warps ? options.warps : warpsByRegisters(kernel);
      FailureOr<Choice> choice = plan(kernel, options, number, kernels);
      if (failed(choice))
        return failure();
      if (choice->plan.sharedCapacity == options.sharedBytes)
        alone.insert(kernel.getSymName());
      choices[kernel.getSymName()] = *choice;
    }
    if (options.warps)
      return success();
    for (ArrayRef<StringRef> group : kernelsOfSegments())
      if (llvm::any_of(group, [&](StringRef name) { return alone.contains(name); }))
        alone.insert_range(group);
    for (tile::KernelOp kernel : all) {
      Choice &own = choices[kernel.getSymName()];
      if (own.warps >= kManyWarps || !alone.contains(kernel.getSymName()))
        continue;
      FailureOr<Choice> choice = plan(kernel, options, kManyWarps, kernels);
      if (failed(choice))
        return failure();
      own = *choice;
    }
    return success();
  }

  static LogicalResult lower(tile::KernelOp kernel, TileToWarpOptions options, Choice &choice,
                             gpu::GPUModuleOp kernels) {
    options.warps = choice.warps;
    if (failed(stageWeights(kernel, choice.plan, options, kernels)) ||
        failed(startCopiesEarly(kernel, choice.plan, options, kernels)) ||
        failed(KernelLowering(kernel, options, choice.plan).run(kernels)))
      return failure();
    kernel.erase();
    return success();
  }

  void runOnOperation() final {
    if (warps < 0 || warps > 16 || (warps && !llvm::isPowerOf2_64(warps)) || sharedBytes < 0) {
      getOperation().emitError("warps must be a power of two from 1 to 16, or 0 for a choice, and "
                               "shared-bytes not negative; got ")
          << int64_t(warps) << " and " << int64_t(sharedBytes);
      return signalPassFailure();
    }
    TileToWarpOptions options{warps, sharedBytes, pipelineCopies};
    OpBuilder builder(getOperation().getBodyRegion());
    auto kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), builder.getUnitAttr());
    SmallVector<tile::KernelOp> all(getOperation().getOps<tile::KernelOp>());
    for (tile::KernelOp kernel : all)
      if (failed(checkOps(kernel)) || failed(checkPrecision(kernel)))
        return signalPassFailure();
    llvm::StringMap<Choice> choices;
    if (failed(choose(all, options, kernels, choices)))
      return signalPassFailure();
    for (tile::KernelOp kernel : all)
      if (failed(lower(kernel, options, choices[kernel.getSymName()], kernels)))
        return signalPassFailure();
  }
};
} // namespace
