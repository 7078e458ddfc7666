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

struct LaunchDescription {
  std::string function;
  /// Threads of a CTA.
  int64_t threads = 0;
  /// Dynamic shared memory of a CTA.
  int64_t sharedBytes = 0;
  /// Workspace in global memory, for each program.
  int64_t workspaceBytes = 0;
  std::vector<LaunchParameter> parameters;
  /// The number of programs, which is the number of CTAs, is the product of these sizes.
  std::vector<SizeReference> programs;
};

/// A tensor of a launch; strides in elements.
struct LaunchTensor {
  void *data;
  llvm::ArrayRef<int64_t> sizes, strides;
};

/// Reads the attributes; an error names what is missing.
llvm::Expected<LaunchDescription> describeLaunch(mlir::gpu::GPUFuncOp function);

/// How many CTAs a launch on these tensors has.
int64_t countPrograms(const LaunchDescription &launch, llvm::ArrayRef<LaunchTensor> tensors);

/// The values of the parameters, in order.
std::vector<uint64_t> bindParameters(const LaunchDescription &launch,
                                     llvm::ArrayRef<LaunchTensor> tensors, void *workspace);

} // namespace polyattn

#endif // POLYATTN_TARGET_LAUNCH_H
