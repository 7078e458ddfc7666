//===- GPU.cpp - from a spec to a GPU's LLVM dialect ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Pipelines/GPU.h"
#include "TargetPipeline.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Target/NVPTX.h"
#include "polyattn/TileTransforms/Passes.h"
#include "polyattn/Transforms/Passes.h"

using namespace polyattn;

/// Larger clusters share more, but each CTA adds up what all others have.
static constexpr int64_t kLargestCluster = 2;
/// The programs that share features of gradients: clusters of any GPU may have so many.
static constexpr int64_t kMostFeatureParts = 8;
/// The numbers that loops over the same blocks carry if they become one: two tiles of 64 x 64, 64
/// registers of each of 128 threads. With more, ptxas spills.
static constexpr int64_t kCarriedByFusedLoops = 2 * 64 * 64;
/// The rows of one product of tensor cores: calls that continue sequences have few tokens.
static constexpr int64_t kFewTokens = 16;

void polyattn::buildGPUPipeline(mlir::OpPassManager &passes, const GPUPipelineOptions &options) {
  buildTileKernels(passes, options);
  if (options.stopAfter <= GPUPipelinePhase::Tile)
    return;
  buildWarpKernels(passes, options);
  if (options.stopAfter == GPUPipelinePhase::Warp)
    return;
  buildWarpToNVVMPipeline(passes, options.chip);
}

void polyattn::buildTileKernels(mlir::OpPassManager &passes, const GPUPipelineOptions &options) {
  passes.addPass(createInlineMaps());
  passes.addPass(createSimplifyFeatures());
  passes.addPass(createFindWindows());
  passes.addPass(createLocalizeTables());
  passes.addPass(createBlockPowers());
  passes.addPass(mlir::createCSEPass());
  ShareFeaturesOptions shares;
  shares.mostParts = std::min<int64_t>(options.chip.maxBlocksPerCluster, kMostFeatureParts);
  shares.bytes = options.chip.sharedBytesPerBlock / 5 * 3;
  passes.addPass(createShareFeatures(shares));
  ChooseScheduleOptions schedule;
  schedule.tensorCores = true;
  schedule.l1Bytes = options.chip.sharedBytesPerBlock;
  passes.addPass(createChooseSchedule(schedule));
  if (options.stopAfter == GPUPipelinePhase::Schedule)
    return;
  passes.addPass(createNameStates());
  FormKernelsOptions kernels;
  kernels.passRowSums = true;
  kernels.passKeys = true;
  passes.addPass(createFormKernels(kernels));
  // A head's positions are cut, not its features: there is no stage after to add up the parts.
  CutKernelsOptions cut;
  cut.cutHeads = false;
  cut.cutPositions = true;
  cut.subsegments = 2;
  cut.cutBlocksOfSums = true; // programs for each head alone would leave most of a GPU idle
  cut.clusterSize = std::min<int64_t>(options.chip.maxBlocksPerCluster, kLargestCluster);
  cut.sharedBytes = options.chip.sharedBytesPerBlock;
  passes.addPass(createCutKernels(cut));
  StepKernelsOptions steps;
  steps.fewTokens = kFewTokens;
  passes.addPass(createStepKernels(steps));
  passes.addPass(createConvertPolyAttnToTile());
  passes.addPass(createFuseWindows());
  // What is one value folds as one, and what a loop computes in each iteration comes before it.
  passes.addPass(mlir::createLoopInvariantCodeMotionPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createCanonicalizerPass());
  FuseLoopsOptions loops;
  loops.carried = kCarriedByFusedLoops;
  passes.addPass(createFuseLoops(loops));
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createNarrowLoads());
  passes.addPass(mlir::createCSEPass());
  SetPrecisionOptions precision;
  precision.tensorCores = true;
  passes.addPass(createSetPrecision(precision));
  passes.addPass(createMoveScales());
  passes.addPass(mlir::createCSEPass());
}

void polyattn::buildWarpKernels(mlir::OpPassManager &passes, const GPUPipelineOptions &options) {
  TileToWarpOptions kernels;
  kernels.sharedBytes = options.chip.sharedBytesPerBlock;
  CarryStatesOptions carried;
  carried.elements = 8 * GPUDescription::warpSize * GPUDescription::carriedNumbersPerThread;
  passes.addPass(createRepeatLoads());
  passes.addPass(createCarryStates(carried));
  passes.addPass(createTileToWarp(kernels));
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  UnrollLoopsOptions unrolling;
  unrolling.registers = options.chip.usableRegistersPerThread();
  passes.addPass(createUnrollLoops(unrolling));
}

void polyattn::buildWarpToNVVMPipeline(mlir::OpPassManager &passes, const GPUDescription &chip) {
  mlir::OpPassManager &kernels = passes.nest<mlir::gpu::GPUModuleOp>();
  kernels.addPass(createExpandMath());
  kernels.addPass(mlir::createCSEPass());
  kernels.addPass(createConvertWarpToNVVM({chip.sharedBytesPerSM, chip.maxBlocksPerCluster}));
}

namespace {
struct TextOptions : mlir::PassPipelineOptions<TextOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("GPU to compile for"),
                             llvm::cl::init("sm_90")};
  Option<GPUPipelinePhase> stopAfter{
      *this, "stop-after", llvm::cl::desc("the last level"),
      llvm::cl::init(GPUPipelinePhase::LLVMDialect),
      llvm::cl::values(
          clEnumValN(GPUPipelinePhase::Schedule, "schedule",
                     "the polyattn dialect, inlined, simplified and scheduled"),
          clEnumValN(GPUPipelinePhase::Tile, "tile", "the tile dialect"),
          clEnumValN(GPUPipelinePhase::Warp, "warp", "programs of one thread"),
          clEnumValN(GPUPipelinePhase::LLVMDialect, "llvm", "the LLVM and NVVM dialects"))};
};
} // namespace

void polyattn::registerGPUPipelines() {
  registerTargetPipeline<TextOptions>("polyattn-nvptx-pipeline",
                                      "Lower a spec to the LLVM dialect for an NVIDIA GPU", findGPU,
                                      buildGPUPipeline);
  mlir::PassPipelineRegistration<>(
      "polyattn-warp-to-nvvm-pipeline", "Lower kernels in the warp dialect to the LLVM dialect",
      [](mlir::OpPassManager &passes) { buildWarpToNVVMPipeline(passes, GPUDescription()); });
}
