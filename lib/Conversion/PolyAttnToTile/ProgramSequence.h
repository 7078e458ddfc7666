//===- ProgramSequence.h - the sequence that a program computes -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PROGRAMSEQUENCE_H
#define POLYATTN_CONVERSION_PROGRAMSEQUENCE_H

#include "KernelTensors.h"

namespace polyattn {

/// The first row and the length of one sequence in a packed tensor, index.
struct SequenceRows {
  mlir::Value first, count;
};
SequenceRows rowsOfSequence(TileBuilder &builder, mlir::Value offsets, mlir::Value sequence);

/// The sequence that a program computes, a batch or one of several that are packed in one: where
/// its rows are, how many count, and where its state is.
class ProgramSequence {
public:
  ProgramSequence() = default;
  /// The lengths that tensors say, of all sequences; `begin` goes to one of them.
  ProgramSequence(TileBuilder &builder, tile::KernelOp kernel, const KernelTensors &tensors,
                  const KernelPrograms &programs);
  void begin(TileBuilder &builder, mlir::Value number);
  /// How many sequences there are.
  mlir::Value count(TileBuilder &builder) const;

  bool isPacked() const { return firstRow != nullptr; }
  /// The row of the sequences' tensors that has a position of this one.
  mlir::Value rowOf(TileBuilder &builder, mlir::Value position) const {
    return firstRow ? builder.addIndex(firstRow, position) : position;
  }
  /// The row of the state in a tensor.
  mlir::Value stateRow() const { return slot ? slot : number; }
  /// Whether there is a state at all; null where there is one.
  mlir::Value hasState(TileBuilder &builder) const;
  /// Emits `body` for a sequence that has one.
  void ifHasState(TileBuilder &builder, TileBuilder::Branch body) const;

  /// Token `t` of the call alone, as the call of one token that continues behind those before it.
  ProgramSequence token(TileBuilder &builder, mlir::Value t) const;
  /// The same sequence with the query side and the key side exchanged.
  ProgramSequence mirrored() const {
    ProgramSequence other = *this;
    std::swap(other.queries, other.keys);
    return other;
  }

  mlir::Value number;        // index
  mlir::Value batch;         // index: of its rows in tensors
  mlir::Value queries, keys; // index: lengths
  mlir::Value positions;     // index: those of the tensors; null where all of them count
  mlir::Value slot;          // index: the row of its state in pools; null without pools
  mlir::Value isContinued;   // i1: whether that row holds its state; null where it does
  mlir::Value cached;        // index: rows of the call's first local block in pools; null without
  mlir::Value before;        // index: positions of calls before, for windows; null without
  mlir::Value firstPosition; // i64: of row 0 in the sequence; null where that is always 0

private:
  mlir::Value load(TileBuilder &builder, int64_t tensor) const;
  void readSlotAndLength(TileBuilder &builder);
  mlir::Value countCached(TileBuilder &builder, mlir::Value hasSlot) const;

  mutable tile::KernelOp kernel; // its accessors are not const
  KernelTensors tensors;
  mlir::Value firstRow; // index: of the packed sequence; null where none are packed
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PROGRAMSEQUENCE_H
