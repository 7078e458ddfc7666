//===- FromModule.h - plans of entries in a module --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LAUNCH_FROMMODULE_H
#define POLYATTN_LAUNCH_FROMMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "polyattn/Launch/LaunchPlan.h"

namespace polyattn {

/// The plan of the `tile.entry` of that name; an error where there is none. Scratch and clusters
/// are those of a target, which fills them in.
llvm::Expected<LaunchPlan> planOf(mlir::ModuleOp module, llvm::StringRef entry);

/// The name of the `tile.entry` with a stage of this kernel; the kernel's own where there is none.
std::string entryLaunching(mlir::ModuleOp module, llvm::StringRef kernel);

/// Whether the module has a `tile.entry` of that name.
bool hasPlan(mlir::ModuleOp module, llvm::StringRef entry);

} // namespace polyattn

#endif // POLYATTN_LAUNCH_FROMMODULE_H
