//===- KernelTensors.h - tensors and programs of tile kernels ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELTENSORS_H
#define POLYATTN_CONVERSION_KERNELTENSORS_H

#include "TileBuilder.h"

namespace polyattn {

/// A tensor that no caller sees, after the results.
struct HiddenArgument {
  std::string name;
  mlir::RankedTensorType type;
};

/// Which programs a kernel has for each batch.
struct KernelPrograms {
  tile::ExtentAttr perHead = {}; // null for one program
  bool keyHeads = false;         // for each head of keys instead of queries
  /// Parts in place of batches: a program computes a head in all batches of its part.
  bool inParts = false;
  int64_t batches = 1;       // that a program has
  int64_t fewestBatches = 1; // that have a program
};

/// What the kernels of an entry have in common.
struct KernelTensors {
  llvm::SmallVector<mlir::Attribute> names; // inputs first, then results
  llvm::SmallVector<mlir::Type> types;
  int64_t inputs = 0;
  /// The tensors [B, T, H, d] whose positions and heads the programs go by: that of rows, and that
  /// of what rows see.
  int64_t queryTensor = 0, keyTensor = 0;
  /// The tensors whose dimension 2 counts their heads. They are others where all heads share those
  /// of the tensors above (`shared_heads`).
  int64_t queryHeads = 0, keyHeads = 0;
  /// Rows are of keys, and the others of queries, which have more heads.
  bool rowsOfKeys = false;
  bool interleaved = false; // how heads of queries share those of keys
  bool sameHeads = false;   // H = Hkv, whatever the call
  /// The tensor that says where calls begin in their sequences.
  std::optional<int64_t> firstPosition;
  /// The tensors of the batches' rows in pools of states, and of how many positions count.
  std::optional<int64_t> slots, lengths;
  /// The positions of a local block whose rows are kept in pools; 0 where none are.
  int64_t cachedBlock = 0;
  /// Whether pools have rows of the last positions, for windows.
  bool hasRings = false;
  /// The tensor of where packed sequences begin and end.
  std::optional<int64_t> offsets;
  int64_t cluster = 1; // programs that run together

  /// The tensor whose batches and positions the programs go by, and that whose heads they do.
  int64_t tensorOf(const KernelPrograms &programs) const {
    return programs.keyHeads ? keyTensor : queryTensor;
  }
  int64_t headsOf(const KernelPrograms &programs) const {
    return programs.keyHeads ? keyHeads : queryHeads;
  }
  /// One tensor for all of them.
  void goBy(int64_t tensor) { queryTensor = keyTensor = queryHeads = keyHeads = tensor; }
  /// How many batches there are, or packed sequences.
  tile::ExtentAttr batches(mlir::MLIRContext *context, int64_t tensor) const;
  /// The axes of their grid: what a head is cut into, batches, heads.
  mlir::ArrayAttr gridOf(mlir::Builder &builder, const KernelPrograms &programs) const;
};

/// A kernel over these tensors and workspaces with the grid `axes`; moves `builder` into it.
tile::KernelOp createKernel(TileBuilder &builder, llvm::StringRef name,
                            const KernelTensors &tensors, llvm::ArrayRef<HiddenArgument> workspaces,
                            mlir::ArrayAttr axes);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELTENSORS_H
