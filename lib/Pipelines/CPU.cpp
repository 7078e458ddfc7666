//===- CPU.cpp - from a spec to the LLVM dialect --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Pipelines/CPU.h"
#include "TargetPipeline.h"
#include "mlir/Transforms/Passes.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Conversion/TileToVector.h"
#include "polyattn/Target/CPU.h"
#include "polyattn/TileTransforms/Passes.h"
#include "polyattn/Transforms/Passes.h"

using namespace polyattn;

/// Up to one block of most schedules, all pairs take less time than a state.
static constexpr int64_t kShortBlock = 64;
/// One vector of the widest machines: shorter blocks of tokens that go on with a state take as
/// long.
static constexpr int64_t kFewTokens = 16;
/// A block of few tokens computes 16 rows, and copies the state: it takes as long as about so many
/// steps.
static constexpr int64_t kOneByOne = 8;
/// Features of so many tokens at once are less work than those of each alone: a vector has 16.
static constexpr int64_t kFewestBatches = 12;

void polyattn::buildCPUPipeline(mlir::OpPassManager &passes, const CPUPipelineOptions &options) {
  passes.addPass(createInlineMaps());
  passes.addPass(createSimplifyFeatures());
  passes.addPass(createFindWindows());
  passes.addPass(createLocalizeTables());
  ChooseScheduleOptions schedule;
  schedule.l1Bytes = options.machine.l1Bytes;
  schedule.shortBlock = kShortBlock;
  passes.addPass(createChooseSchedule(schedule));
  if (options.stopAfter == CPUPipelinePhase::Schedule)
    return;
  passes.addPass(createNameStates());
  passes.addPass(createMergeStates());
  passes.addPass(createFormKernels());
  CutKernelsOptions cut;
  cut.cutPositions = true;
  cut.subsegments = 2;
  passes.addPass(createCutKernels(cut));
  StepKernelsOptions steps;
  steps.fewTokens = kFewTokens;
  steps.oneByOne = kOneByOne;
  steps.fewestBatches = kFewestBatches;
  passes.addPass(createStepKernels(steps));
  ConvertPolyAttnToTileOptions tileKernels;
  tileKernels.skipIdleState = true;
  passes.addPass(createConvertPolyAttnToTile(tileKernels));
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  FuseWindowsOptions windows;
  windows.reuseLater = true;
  passes.addPass(createFuseWindows(windows));
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createFuseLoops());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createSinkLoads());
  SetPrecisionOptions precision;
  precision.bf16Pairs = options.machine.has(Instructions::AVX512BF16);
  passes.addPass(createSetPrecision(precision));
  passes.addPass(createPackOperands());
  if (options.stopAfter == CPUPipelinePhase::Tile)
    return;
  passes.addPass(createPrefetch());
  passes.addPass(createTileToVectorPass(options.machine));
  if (options.stopAfter == CPUPipelinePhase::Vector)
    return;
  buildVectorToLLVMPipeline(passes, toText(options.machine.instructions));
}

namespace {
struct TextOptions : mlir::PassPipelineOptions<TextOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("machine to compile for"),
                             llvm::cl::init("native")};
  Option<CPUPipelinePhase> stopAfter{
      *this, "stop-after", llvm::cl::desc("the last level"),
      llvm::cl::init(CPUPipelinePhase::LLVMDialect),
      llvm::cl::values(clEnumValN(CPUPipelinePhase::Schedule, "schedule",
                                  "the polyattn dialect, inlined, simplified and scheduled"),
                       clEnumValN(CPUPipelinePhase::Tile, "tile", "the tile dialect"),
                       clEnumValN(CPUPipelinePhase::Vector, "vector", "functions of vector code"),
                       clEnumValN(CPUPipelinePhase::LLVMDialect, "llvm", "the LLVM dialect"))};
};
} // namespace

void polyattn::registerCPUPipeline() {
  registerTargetPipeline<TextOptions>("polyattn-cpu-pipeline",
                                      "Lower a spec to the LLVM dialect for a processor",
                                      findMachine, buildCPUPipeline);
}
