//===- KernelBuilder.h - the block programs of one attention ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELBUILDER_H
#define POLYATTN_CONVERSION_KERNELBUILDER_H

#include "AttendProgram.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {

/// A tensor that no caller sees, after the results.
struct HiddenArgument {
  std::string name;
  mlir::RankedTensorType type;
};

/// Which programs a kernel has for each batch.
struct KernelPrograms {
  std::optional<int64_t> segments = std::nullopt; // of a head: S + this; none for one program
  bool keyHeads = false;                          // for each head of keys instead of queries
};

/// Lowers one attention: its kernel, where its features can be cut the kernel that adds the
/// parts, and where its positions can be cut the kernel that sums up segments.
class KernelBuilder {
public:
  KernelBuilder(AttentionOp attention, const ConvertPolyAttnToTileOptions &options)
      : attention(attention), b(attention.getLoc(), attention), options(options) {}

  mlir::LogicalResult build();

private:
  //===--- Kernels (KernelBuilder.cpp) --------------------------------------===//
  mlir::LogicalResult check();
  void beginKernel(llvm::StringRef name, llvm::ArrayRef<HiddenArgument> hidden = {},
                   const KernelPrograms &programs = {});
  void beginMain(int64_t quadraticBelow);
  void bindFirstPosition();
  /// What a part of the kernel computes: the form with a state, the quadratic one where there is a
  /// choice, or a call of one block.
  enum class Variant { State, Quadratic, OneBlock };
  void program(TileBuilder &builder, Variant variant);
  void oneBlock(TileBuilder &builder, int64_t length);
  void shortOrLong(TileBuilder &builder, int64_t length, int64_t quadraticBelow);
  void programs(TileBuilder &builder, int64_t quadraticBelow);
  void branch(TileBuilder &builder, int64_t limit, llvm::function_ref<void(TileBuilder &)> few,
              llvm::function_ref<void(TileBuilder &)> many);
  int64_t shortBlock();
  void finish(TileBuilder &builder, llvm::MutableArrayRef<AttendProgram> programs);
  std::vector<AttendProgram> makePrograms(Variant variant);
  VectorProgram queryProgram(TileBuilder &builder, const BlockPlace &place);
  void block(TileBuilder &builder, llvm::MutableArrayRef<AttendProgram> programs,
             const BlockPlace &place);
  void storeResults(TileBuilder &builder, llvm::MutableArrayRef<AttendProgram> programs,
                    llvm::ArrayRef<AttendProgram::Sums> sums, VectorProgram &queries,
                    const BlockPlace &place);
  void storeResult(TileBuilder &builder, VectorProgram &queries, mlir::Value vector,
                   mlir::Value tensor, mlir::Value column, const BlockPlace &place);
  mlir::Value resultTensor(unsigned i) { return kernel.getTensor(kernel.getNumInputs() + i); }
  /// The numbers of the kernel's tensors that give positions and heads.
  void findSequences();
  auto returned() {
    return mlir::cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
  }

  //===--- Features shared by a cluster (Clusters.cpp) ----------------------===//
  int64_t chooseClusterSize();
  void bindCluster();
  void narrowWeights();
  void sumOverCluster(TileBuilder &builder, llvm::MutableArrayRef<AttendProgram::Sums> sums);

  //===--- Parts of the features (CutFeatures.cpp) --------------------------===//
  void cutByFeatures();
  llvm::SmallVector<HiddenArgument> partTensors(int64_t rank);
  void bindPart();
  void storePartial(TileBuilder &builder, llvm::MutableArrayRef<AttendProgram> programs,
                    llvm::ArrayRef<AttendProgram::Sums> sums, const BlockPlace &place);
  void combine();
  mlir::Value partialTensor() { return kernel.getTensor(kernel.getNumTensors() - 2); }
  mlir::Value launchTensor() { return kernel.getTensor(kernel.getNumTensors() - 1); }

  //===--- Segments of positions (CutPositions.cpp) -------------------------===//
  bool canCutPositions();
  llvm::SmallVector<HiddenArgument> segmentTensors();
  mlir::ArrayAttr segmentSizes(llvm::ArrayRef<HiddenArgument> tensors);
  mlir::DictionaryAttr segmentRule(int64_t quadraticBelow);
  SegmentContext segmentOf(TileBuilder &builder, bool isSums);
  void bindSegment(llvm::MutableArrayRef<AttendProgram> programs);
  void sumSegments();

  AttentionOp attention;
  TileBuilder b;
  ConvertPolyAttnToTileOptions options;
  tile::KernelOp kernel;
  llvm::SmallVector<AttendOp> attends;
  llvm::SmallVector<Schedule> schedules;
  bool interleaved = false;
  bool sameHeads = false; // H = Hkv, whatever the call
  std::optional<int64_t> queryTensor, keyTensor;
  int64_t run = 0;       // the block of the local kernels, 0 without
  int64_t maxSplits = 1; // into how many programs a head can be cut by features
  int64_t partialColumns = 0;
  int64_t clusterSize = 1;    // programs that share a head's features
  bool hasSegments = false;   // whether positions can be cut
  bool statePerQuery = false; // some state belongs to a query head
  std::optional<WeightTiles> weights;
  std::optional<ProgramContext> context;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELBUILDER_H
