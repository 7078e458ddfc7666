//===- Entry.h - how the kernels of an attention are launched ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ENTRY_H
#define POLYATTN_CONVERSION_ENTRY_H

#include "EntryBuilder.h"
#include "KernelInfo.h"
#include "TileBuilder.h"

namespace polyattn {

/// The tile kernels after all others. They compute gradients of weights, of decays and of states
/// that attends share, as sums of workspaces that the others have written.
class SumsOfKernels {
public:
  SumsOfKernels(AttentionOp attention, llvm::ArrayRef<KernelInfo> kernels)
      : attention(attention), kernels(kernels) {}
  void build(TileBuilder &builder) const;
  /// Writes their stages. `sums` are the workspaces of weights' gradients.
  void write(EntryBuilder &entry, TileBuilder &builder, EntryBuilder::Uses sums) const;

private:
  void writeParts(EntryBuilder &entry, TileBuilder &builder) const;

  mutable AttentionOp attention; // its accessors are not const
  llvm::ArrayRef<KernelInfo> kernels;
};

/// Writes the op `tile.entry` after the kernels.
void writeEntry(AttentionOp attention, TileBuilder &builder, llvm::ArrayRef<KernelInfo> kernels,
                bool skipsIdleState);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ENTRY_H
