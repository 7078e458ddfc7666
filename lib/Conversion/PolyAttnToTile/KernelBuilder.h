//===- KernelBuilder.h - the tile kernels of one attention ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELBUILDER_H
#define POLYATTN_CONVERSION_KERNELBUILDER_H

#include "AttendProgram.h"
#include "KernelInfo.h"
#include "WeightSums.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {

class EntryBuilder;

/// Lowers one attention: its kernel, where its features can be cut the kernel that adds the parts,
/// and where its positions can be cut the prefix kernel, which computes the states of segments.
class KernelBuilder {
public:
  KernelBuilder(AttentionOp attention, const ConvertPolyAttnToTileOptions &options)
      : attention(attention), b(attention.getLoc(), attention), options(options) {}

  mlir::LogicalResult build();

  /// Batches of a program that computes features of steps: a vector of the widest processors, and
  /// the rows of a product of tensor cores.
  static constexpr int64_t kBatchesPerProgram = 16;

private:
  void buildKernels();
  //===--- Kernels (KernelBuilder.cpp) --------------------------------------===//
  void beginKernel(llvm::StringRef name, llvm::ArrayRef<HiddenArgument> hidden = {},
                   const KernelPrograms &programs = {});
  void beginMain();
  ProgramContext context();
  void buildBlocks();
  void buildForms();
  void buildForm(ScheduleForm form);
  void buildChunkwise();
  void buildShortOrLong(llvm::ArrayRef<int64_t> lengths);
  void branch(mlir::Value isShort, TileBuilder::Branch few, TileBuilder::Branch many);

  //===--- Features shared by a cluster (Clusters.cpp) ----------------------===//
  int64_t chooseClusterSize();
  void narrowWeights();

  //===--- Parts of the features (CutFeatures.cpp) --------------------------===//
  void cutByFeatures();
  llvm::SmallVector<HiddenArgument> partTensors();
  void bindPart();
  void combine();

  //===--- Segments of positions (CutPositions.cpp) -------------------------===//
  bool canCutPositions();
  llvm::SmallVector<HiddenArgument> segmentTensors();
  SegmentContext segmentOf(bool isPrefix);
  void buildPrefixKernel();
  KernelPrograms mainPrograms();
  KernelPrograms sumPrograms();

  //===--- States that live in arguments (StatesInPlace.cpp) ----------------===//
  llvm::SmallVector<HiddenArgument> placedStates();
  llvm::SmallVector<tile::ExtentAttr> sizesOfPlaced(size_t number);
  tile::ExtentAttr ifLongerThan(int64_t tokens, int64_t number);
  void buildWriteBackKernel();
  KernelPrograms statePrograms();

  //===--- Sums over groups of heads (GroupSums.cpp) ------------------------===//
  void buildGroupKernel();

  //===--- Gradients of weights (KernelBuilder.cpp) -------------------------===//
  void beginUncut(llvm::StringRef kernel, llvm::SmallVector<HiddenArgument> workspaces,
                  const KernelPrograms &programs, llvm::ArrayRef<StoredResult> saved = {},
                  const KernelInfo *beside = nullptr, llvm::ArrayRef<HiddenArgument> states = {});
  void buildProgram(TileBuilder::Branch batch);
  void reduceWeights(llvm::ArrayRef<KernelInfo> sets);
  void sumSaved(llvm::ArrayRef<KernelInfo> sets);

  //===--- Calls of few tokens (StepForm.cpp) --------------------------------===//
  bool canStep();
  /// What the vectors' kernel hands to the steps, [batches, heads, width].
  struct StepTensor {
    HiddenArgument tensor;
    bool ofQueries; // its heads are queries', else keys'
  };
  llvm::SmallVector<StepTensor> stepTensors();
  llvm::SmallVector<HiddenArgument> stepWorkspaces();
  KernelPrograms vectorPrograms();
  KernelPrograms fewPrograms();
  int64_t mostSteppedTokens();
  void buildIfLonger(int64_t tokens, TileBuilder::Branch body);
  void buildIfAtMost(int64_t tokens, TileBuilder::Branch body);
  void buildStepKernels();
  void buildFewKernel();
  void buildVectorsKernel();

  //===--- How the kernels are launched (LaunchEntry.cpp) -------------------===//
  int64_t prefixCostPercent();
  void writeUncut(EntryBuilder &entry, llvm::ArrayRef<KernelInfo> sets);
  void writeSteps(EntryBuilder &entry);
  void writeEntry(llvm::ArrayRef<KernelInfo> sets);

  AttentionOp attention;
  TileBuilder b;
  ConvertPolyAttnToTileOptions options;
  KernelInfo set; // of the kernels that are being built
  std::string name;
  int64_t maxSplits = 1; // into how many programs a head can be cut by features
  int64_t partialColumns = 0;
  bool hasSegments = false;  // whether positions can be cut
  bool hasPlaces = false;    // whether final states live in arguments
  int64_t steppedTokens = 0; // calls of so many update them there; 0 for none
  /// The workspaces of weights' gradients, those of all sets so far.
  llvm::SmallVector<HiddenArgument> sumTensors;

  // The kernel that is being built.
  std::optional<KernelFrame> frame;
  std::shared_ptr<const FeatureShare> share;
  std::optional<SegmentContext> segment;
  std::optional<WeightSums> weightSums, besideSums;
  unsigned firstSaved = 0, firstPassed = 0, firstState = 0; // workspaces
  llvm::ArrayRef<StoredResult> savedHere;                   // of the kernel at hand
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELBUILDER_H
