//===- Subject.h - what a run computes --------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_SUBJECT_H
#define POLYATTN_LIB_DRIVER_SUBJECT_H

#include "Inputs.h"
#include "mlir/IR/OwningOpRef.h"

namespace polyattn::driver {

/// An attention of the spec in the direction of the options, as a target takes it.
class Subject {
public:
  static llvm::Expected<Subject> create(AttentionOp definition, CallDirection direction,
                                        const RunOptions &options, const Target &target);

  AttentionOp getDefinition() const { return definition; }
  /// The entry of the direction, or the definition where the target derives gradients itself.
  AttentionOp getAttention() const { return attention; }
  const Signature &getSignature() const { return signature; }

  /// Compiles it; `text` is that of the spec.
  llvm::Expected<std::unique_ptr<Executable>> compile(Target &target, llvm::StringRef text,
                                                      const RunOptions &options) const;

private:
  Subject(AttentionOp definition, CallDirection direction)
      : definition(definition), attention(definition), direction(direction) {}

  AttentionOp definition;
  mlir::OwningOpRef<mlir::ModuleOp> module; // of the entry, if it is not the definition
  AttentionOp attention;
  CallDirection direction;
  Signature signature;
};

/// The forward half of a pair with the call that gives the saved arguments of the other half.
struct ForwardRun {
  std::unique_ptr<Executable> executable;
  std::vector<HostTensor> arguments, results;
  Call call;
};

/// Computes what a backward call takes of a forward one and no file gives, by running that. Null
/// where nothing is missing and nothing is measured.
llvm::Expected<std::unique_ptr<ForwardRun>> computeSaved(const Subject &backward, Target &target,
                                                         llvm::StringRef text,
                                                         const RunOptions &options,
                                                         const Inputs &inputs);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_SUBJECT_H
