//===- KernelFrame.h - the tensors and indices of one kernel ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is opened over tensors: inputs, results, and workspaces that only the entry's kernels
// see. Its programs know which sequence and heads are theirs. Weights are loaded once for each
// program. This is the one place where a program's number becomes what it works on: the body of the
// kernel says it in ordinary arithmetic, which lowerings and the interpreter only have to follow.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELFRAME_H
#define POLYATTN_CONVERSION_KERNELFRAME_H

#include "LagTables.h"
#include "ProgramHeads.h"
#include "ProgramSequence.h"
#include "VectorProgram.h"

namespace polyattn {

class KernelFrame {
public:
  /// Opens a kernel where `builder` is and moves it into the kernel.
  KernelFrame(TileBuilder &builder, llvm::StringRef name, const KernelTensors &tensors,
              llvm::ArrayRef<HiddenArgument> workspaces = {}, const KernelPrograms &programs = {});

  mlir::Value input(mlir::Value argument) const {
    return kernel.getTensor(mlir::cast<mlir::BlockArgument>(argument).getArgNumber());
  }
  mlir::Value result(unsigned i) const { return kernel.getTensor(tensors.inputs + i); }
  mlir::Value workspace(unsigned i) const { return kernel.getTensor(tensors.types.size() + i); }

  /// The frame with the query side and the key side exchanged.
  KernelFrame mirrored() const {
    KernelFrame other = *this;
    other.sequence = sequence.mirrored();
    other.heads = heads.mirrored();
    return other;
  }

  /// What a program does in each of its batches, one after another.
  void forBatches(TileBuilder &builder, mlir::Value parts, llvm::function_ref<void()> body);
  /// The same for parts of all batches' blocks of `length` positions. `body` gets the first
  /// position of a block.
  void forBlocks(TileBuilder &builder, mlir::Value parts, int64_t length,
                 llvm::function_ref<void(mlir::Value)> body);

  /// Vectors of the query side, or of the key side, for rows of `columns` positions.
  VectorProgram queryVectors(TileBuilder &builder, const BlockRows &rows, int64_t columns) {
    return VectorProgram(builder, weights, sequence.batch, heads.ofRows(), headTensor(), rows,
                         columns);
  }
  VectorProgram keyVectors(TileBuilder &builder, const BlockRows &rows, int64_t columns) {
    return VectorProgram(builder, weights, sequence.batch, heads.ofSeen(), headTensor(), rows,
                         columns);
  }

  /// The scores of all lags, by a table of the program's query head.
  mlir::Value lagScores(TileBuilder &builder, RelativeOp op, const LagRows &rows) {
    return lags.get(builder, weights, op, heads.query(), rows);
  }

  /// A tensor that counts the heads of all that is not shared, where heads share sequences.
  mlir::Value headTensor() const { return kernel.getTensor(tensors.queryHeads); }

  mutable tile::KernelOp kernel; // its accessors are not const
  ProgramSequence sequence;      // the first one of a program's; in parts that of `forBatches`
  ProgramHeads heads;
  mlir::Value part;        // index: the program's part of the batches; null without parts
  mlir::Value segment;     // of this program (axis 0 of the grid); null where positions are whole
  mlir::Value clusterRank; // index; null without clusters
  WeightTiles weights;
  LagTables lags;

private:
  void forItems(TileBuilder &builder, mlir::Value parts, mlir::Value items,
                llvm::function_ref<void(mlir::Value)> body) const;

  KernelTensors tensors;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELFRAME_H
