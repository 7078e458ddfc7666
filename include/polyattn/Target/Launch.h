//===- Launch.h - what a launch of a GPU kernel needs -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch of a kernel as plain data, read off the attributes of its `gpu.func` (the warp
// dialect's description says which). The emulator, the CUDA driver and the JSON beside an
// artifact all use this.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_LAUNCH_H
#define POLYATTN_TARGET_LAUNCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::gpu {
class GPUFuncOp;
} // namespace mlir::gpu

namespace polyattn {

/// One parameter of a kernel; all are 8 bytes wide.
struct LaunchParameter {
  enum Kind { Pointer, Size, Stride, Workspace, Profile };
  Kind kind = Pointer;
  /// Of Pointer, Size and Stride: the tensor, arguments first, then results; and its dimension.
  int64_t tensor = 0, dimension = 0;
};

/// A size of a tensor.
struct SizeReference {
  int64_t tensor, dimension;
};

/// A number that a launch decides.
struct LaunchSize {
  enum Kind {
    Constant, // `number`
    Size,     // `reference`
    Segments, // S + `number`, S being the number of segments that positions are cut into
  };
  Kind kind = Constant;
  SizeReference reference = {0, 0};
  int64_t number = 0;
};

/// A tensor that the launcher brings along, dense and f32; numbered after the caller's.
struct HiddenTensor {
  std::vector<LaunchSize> sizes;
};

/// What decides into how many segments the positions of a kernel are cut (chooseSegments), and what
/// that takes.
struct SegmentRule {
  /// The kernel that fills the hidden tensors, launched before this one with the same tensors, or
  /// not at all where S is 1.
  std::string states;
  /// Positions of a block, and those that all but the last segment are multiples of.
  int64_t block = 0, unit = 0;
  /// Below this many positions S is 1: there is no state then.
  int64_t wholeBelow = 0;
  /// What a position costs that kernel, in percent of what it costs this one.
  int64_t statesPercent = 100;
  SizeReference positions = {0, 1}, stateHeads = {0, 2};
};

struct LaunchDescription {
  std::string function;
  /// Threads of a CTA.
  int64_t threads = 0;
  /// Dynamic shared memory of a CTA.
  int64_t sharedBytes = 0;
  /// Workspace in global memory, for each CTA.
  int64_t workspaceBytes = 0;
  /// CTAs of a program, which are one cluster where there are several: 1, 2, 4 or 8.
  int64_t cluster = 1;
  std::vector<LaunchParameter> parameters;
  /// The number of programs is the product of these. Batch and heads come first.
  std::vector<LaunchSize> programs;
  /// What kernels of one entry have between them.
  std::vector<HiddenTensor> hidden;
  /// None where S is always 1.
  std::optional<SegmentRule> segments;
};

/// A tensor of a launch; strides in elements.
struct LaunchTensor {
  void *data;
  llvm::ArrayRef<int64_t> sizes, strides;
};

/// Reads the attributes; an error names what is missing.
llvm::Expected<LaunchDescription> describeLaunch(mlir::gpu::GPUFuncOp function);

/// The sizes of a hidden tensor, given the caller's tensors.
std::vector<int64_t> sizesOf(const HiddenTensor &hidden, llvm::ArrayRef<LaunchTensor> tensors,
                             int64_t segments);

/// How many programs a launch on these tensors has; the caller's are enough.
int64_t countPrograms(const LaunchDescription &launch, llvm::ArrayRef<LaunchTensor> tensors,
                      int64_t segments = 1);

/// How many CTAs these programs have: the size of the grid, and the number of workspaces.
int64_t countCTAs(const LaunchDescription &launch, llvm::ArrayRef<LaunchTensor> tensors,
                  int64_t segments = 1);

/// The values of the parameters, in order. Hidden tensors follow the caller's.
std::vector<uint64_t> bindParameters(const LaunchDescription &launch,
                                     llvm::ArrayRef<LaunchTensor> tensors, void *workspace);

/// The number of segments S with which a launch on these tensors is predicted to end first on so
/// many multiprocessors: 1 where cutting wins less than a tenth. docs/GPU.md has the rule.
int64_t chooseSegments(const LaunchDescription &launch, llvm::ArrayRef<LaunchTensor> tensors,
                       int64_t multiprocessors);

} // namespace polyattn

#endif // POLYATTN_TARGET_LAUNCH_H
