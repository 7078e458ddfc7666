//===- ArgumentTypes.h - types of arguments in the short form ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_ARGUMENTTYPES_H
#define POLYATTN_DIALECTS_SHORTFORM_ARGUMENTTYPES_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn::shortform {

/// What an argument is for: `seq[d]`, `weight[d, m]`, `decay`, ...
struct ArgumentKind {
  enum class Elements { Storage, F32, Whole };
  llvm::StringLiteral name;
  /// The sizes before those that the text says.
  llvm::ArrayRef<int64_t> lead;
  size_t leastSizes, mostSizes;
  Elements elements = Elements::Storage;
  /// The attribute of the attention that names such an argument; empty where none does.
  llvm::StringLiteral clause = "";
  bool sharedHeads = false; // the tensor's encoding
};

llvm::ArrayRef<ArgumentKind> allArgumentKinds();
const ArgumentKind *findArgumentKind(llvm::StringRef name);

/// The kind of an attention's argument; null where the short form has none.
const ArgumentKind *kindOfArgument(AttentionOp op, mlir::BlockArgument argument);
/// The kind of a result; null where the short form has none.
const ArgumentKind *kindOfResult(mlir::Value value, mlir::RankedTensorType type);

/// What a tensor is called: `seq[64] bf16`.
std::string spellType(const ArgumentKind &kind, mlir::RankedTensorType type);

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_ARGUMENTTYPES_H
