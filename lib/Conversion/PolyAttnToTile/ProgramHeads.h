//===- ProgramHeads.h - the heads that a program computes -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PROGRAMHEADS_H
#define POLYATTN_CONVERSION_PROGRAMHEADS_H

#include "KernelTensors.h"

namespace polyattn {

/// How many heads of `tensor` share one of `shared`, both [B, T, heads, ...].
mlir::Value countSharing(TileBuilder &builder, mlir::Value tensor, mlir::Value shared);

/// A program's head of queries and its head of keys. A head of keys serves a group of query heads,
/// which lie together or `interleaved`.
class ProgramHeads {
public:
  ProgramHeads() = default;
  /// `number` is the program's coordinate along the grid's axis of heads.
  ProgramHeads(TileBuilder &builder, tile::KernelOp kernel, const KernelTensors &tensors,
               const KernelPrograms &programs, mlir::Value number);

  mlir::Value query() const { return queryHead; }
  mlir::Value key() const { return keyHead; }
  /// The head of queries or of keys that a decay or a state is of.
  mlir::Value of(bool queries) const { return queries ? queryHead : keyHead; }
  /// The head of the program's rows, and the head of what these rows see.
  mlir::Value ofRows() const { return of(!rowsOfKeys); }
  mlir::Value ofSeen() const { return of(rowsOfKeys); }
  /// The one that the grid counts.
  mlir::Value counted() const { return number; }

  /// How many query heads the head of keys serves, and the i-th of them.
  mlir::Value countGroup(TileBuilder &builder) const;
  mlir::Value ofGroup(TileBuilder &builder, mlir::Value i) const;
  /// Whether the program's query head is the first one of its group.
  mlir::Value isFirstOfGroup(TileBuilder &builder) const;
  /// Emits `body` for each of the group's query heads but the first, in place of the program's own.
  void forOthers(TileBuilder &builder, TileBuilder::Branch body);

  /// The same heads where rows are of the other side.
  ProgramHeads mirrored() const {
    ProgramHeads other = *this;
    other.rowsOfKeys = !rowsOfKeys;
    return other;
  }

private:
  mlir::Value number, queryHead, keyHead;
  mlir::Value queries, keys; // tensors that have them
  /// Query heads of a head of keys; null where they are interleaved, and where the grid counts the
  /// heads of keys.
  mlir::Value group;
  bool interleaved = false, rowsOfKeys = false;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PROGRAMHEADS_H
