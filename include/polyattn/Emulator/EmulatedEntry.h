//===- EmulatedEntry.h - the kernels of an entry on the host ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_EMULATOR_EMULATEDENTRY_H
#define POLYATTN_EMULATOR_EMULATEDENTRY_H

#include "mlir/IR/OwningOpRef.h"
#include "polyattn/Emulator/EmulatedKernel.h"

namespace polyattn {

/// An entry of one kernel, or of two where positions can be cut into segments: both are launched
/// as a device's are, one after the other, with poisoned hidden tensors between them.
class EmulatedEntry {
public:
  /// Takes the kernels of the module's `tile.entry` of this name, or its gpu.func of this name.
  static llvm::Expected<std::unique_ptr<EmulatedEntry>> compile(mlir::ModuleOp module,
                                                                llvm::StringRef name);

  const LaunchPlan &getPlan() const { return plan; }
  /// The last stage's.
  const LaunchDescription &getLaunch() const { return kernels.back()->getLaunch(); }

  struct Report {
    /// Empty where positions are in one segment.
    std::optional<EmulatorReport> states;
    EmulatorReport kernel;
  };
  /// Runs the entry on the caller's tensors, arguments and then results, in `options.segments`
  /// segments. More than one of an entry that cannot be cut is an error.
  llvm::Expected<Report> run(llvm::ArrayRef<EmulatedTensor> tensors,
                             const EmulatorOptions &options = {});

private:
  EmulatedEntry() = default;

  std::string name;
  LaunchPlan plan;
  /// The kernels of the stages. All but the last are compiled when they are first needed, since
  /// most launches have one segment.
  std::vector<std::unique_ptr<EmulatedKernel>> kernels;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace polyattn

#endif // POLYATTN_EMULATOR_EMULATEDENTRY_H
