//===- EmulatorTarget.h - GPU kernels on the host as a target ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DRIVER_EMULATORTARGET_H
#define POLYATTN_DRIVER_EMULATORTARGET_H

#include "polyattn/Driver/Target.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace polyattn {

/// Adds the passes from an attention to a `gpu.module` of warp ops for a chip, with a kernel of the
/// attention's name.
using GPUPipeline = void (*)(mlir::OpPassManager &passes, llvm::StringRef chip);

/// `emulator` and `emulator-<chip>`. Threads of a run are those of the host: a kernel's are its
/// own.
void registerEmulatorTargets(TargetRegistry &registry, GPUPipeline pipeline);

} // namespace polyattn

#endif // POLYATTN_DRIVER_EMULATORTARGET_H
