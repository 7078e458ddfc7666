//===- ParseSpec.h - a spec's text, which may come from anybody -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A spec is data: it says what an attention means, and nothing in it runs. What compiles specs
// parses them here: only ops of the polyattn dialect, no dialect's attributes beside, no bytecode,
// and nothing that is larger than the limits below, which bound the time, memory and stack of what
// follows.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SPEC_PARSESPEC_H
#define POLYATTN_SPEC_PARSESPEC_H

#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace polyattn {

/// What the text of a spec may ask for at most; docs/Security.md lists the limits.
struct SpecLimits {
  /// Bytes of the text.
  static constexpr size_t kTextBytes = size_t(4) << 20;
  /// Brackets of any kind inside each other.
  static constexpr size_t kNesting = 64;
  /// Characters of a name, a number or a string.
  static constexpr size_t kWordBytes = 1024;
  /// After every map has been put where it is applied.
  static constexpr int64_t kOperations = ReadingLimits::kOperations;
  /// Operands of all ops together.
  static constexpr int64_t kOperands = 100000;
  /// Numbers of a vector that an op computes; structured features may be many more, as long as only
  /// their scores are formed.
  static constexpr int64_t kWidth = 65536;
  /// Numbers of a weight.
  static constexpr int64_t kWeightElements = int64_t(1) << 26;
};

/// Parses and verifies the spec of `sources`' main buffer. Null where it is none; the context's
/// handlers of diagnostics have the reason then. The context needs no dialect, and gets polyattn
/// only: what lowers the spec appends others to its registry. `sizes` are those of attentions in
/// the short form; what no entry has is an error.
mlir::OwningOpRef<mlir::ModuleOp> parseSpecSource(const llvm::SourceMgr &sources,
                                                  mlir::MLIRContext &context,
                                                  const SpecSizes &sizes = {});

/// Whether a text has a `gpu.module`. Such a file is no spec but a program, as polyattn-compile
/// writes it with --emit warp: whoever compiles it trusts its author.
bool holdsKernels(llvm::StringRef text);

} // namespace polyattn

#endif // POLYATTN_SPEC_PARSESPEC_H
