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

#include "mlir/IR/BuiltinOps.h"
#include "polyattn/Launch/LaunchPlan.h"
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
  /// The tensor of a Pointer, Size or Stride, arguments first, then results, and the dimension of a
  /// Size or Stride.
  int64_t tensor = 0, dimension = 0;
};

/// How many parameters a kernel has at most, of 8 bytes each: drivers before CUDA 12.1 take 4 KiB.
inline constexpr int64_t kMaxLaunchParameters = 512;

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
  /// What `warp.programs` says: sizes whose product is the number of programs, of a kernel that no
  /// `tile.entry` launches.
  std::optional<std::vector<LaunchExtent>> programs;
};

/// A tensor of a launch; strides in elements.
struct LaunchTensor {
  void *data;
  llvm::ArrayRef<int64_t> sizes, strides;
};

/// Reads the attributes; an error names what is missing.
llvm::Expected<LaunchDescription> describeLaunch(mlir::gpu::GPUFuncOp function);

/// The plan of the entry of that name with its kernels' needs: its `tile.entry`, or one stage of
/// the kernel itself where there is none.
llvm::Expected<LaunchPlan> planForGPU(mlir::ModuleOp module, llvm::StringRef entry);

/// The kernel of a stage.
llvm::Expected<LaunchDescription> describeLaunch(mlir::ModuleOp module, llvm::StringRef kernel);

/// The shapes of the caller's tensors, for a LaunchCall.
std::vector<std::vector<int64_t>> shapesOf(llvm::ArrayRef<LaunchTensor> tensors);

/// The values of the parameters, in order. The stage's workspaces follow the caller's tensors;
/// `scratch` is that of all CTAs.
std::vector<uint64_t> bindParameters(const LaunchDescription &launch,
                                     llvm::ArrayRef<LaunchTensor> tensors, void *scratch);

} // namespace polyattn

#endif // POLYATTN_TARGET_LAUNCH_H
