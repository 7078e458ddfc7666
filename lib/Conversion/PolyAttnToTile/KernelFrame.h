//===- KernelFrame.h - the tensors and indices of one kernel ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is opened over tensors: inputs, results, and workspaces that only the entry's kernels
// see. Its programs know which batch and heads are theirs, how many positions there are, and where
// their call is in the sequence. Weights are loaded once for each program. This is the one place
// where a program's number becomes what it works on: the body of the kernel says it in ordinary
// arithmetic, which lowerings and the interpreter only have to follow.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELFRAME_H
#define POLYATTN_CONVERSION_KERNELFRAME_H

#include "LagTables.h"
#include "VectorProgram.h"

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
  /// The tensor of where packed sequences begin and end.
  std::optional<int64_t> offsets;
  int64_t cluster = 1; // programs that run together

  /// The tensor whose batches and heads the programs go by.
  int64_t tensorOf(const KernelPrograms &programs) const {
    return programs.keyHeads ? keyTensor : queryTensor;
  }
  /// How many batches there are, or packed sequences.
  tile::ExtentAttr batches(mlir::MLIRContext *context, int64_t tensor) const;
  /// The axes of their grid: what a head is cut into, batches, heads.
  mlir::ArrayAttr gridOf(mlir::Builder &builder, const KernelPrograms &programs) const;
};

/// The first row and the length of one sequence in a packed tensor, index.
struct SequenceRows {
  mlir::Value first, count;
};
SequenceRows rowsOfSequence(TileBuilder &builder, mlir::Value offsets, mlir::Value sequence);

/// A kernel over these tensors and workspaces with the grid `axes`; moves `builder` into it.
tile::KernelOp createKernel(TileBuilder &builder, llvm::StringRef name,
                            const KernelTensors &tensors, llvm::ArrayRef<HiddenArgument> workspaces,
                            mlir::ArrayAttr axes);

class KernelFrame {
public:
  /// Opens a kernel where `builder` is and moves it into the kernel.
  KernelFrame(TileBuilder &builder, llvm::StringRef name, const KernelTensors &tensors,
              llvm::ArrayRef<HiddenArgument> workspaces = {}, const KernelPrograms &programs = {});

  mlir::Value input(mlir::Value argument) const {
    return kernel.getTensor(mlir::cast<mlir::BlockArgument>(argument).getArgNumber());
  }
  bool isPacked() const { return firstRow != nullptr; }
  /// The row of the sequences' tensors that has a position of this program.
  mlir::Value rowOf(TileBuilder &builder, mlir::Value position) const {
    return firstRow ? builder.addIndex(firstRow, position) : position;
  }
  mlir::Value result(unsigned i) const { return kernel.getTensor(numInputs + i); }
  mlir::Value workspace(unsigned i) const { return kernel.getTensor(firstWorkspace + i); }

  /// The frame with the query side and the key side exchanged.
  KernelFrame mirrored() const {
    KernelFrame other = *this;
    std::swap(other.head, other.kvHead);
    std::swap(other.queries, other.keys);
    other.rowsOfKeys = !rowsOfKeys;
    return other;
  }

  /// The row of the batch's state in a tensor.
  mlir::Value stateRow() const { return slot ? slot : sequence; }
  /// Whether the batch has a state at all; null where it has.
  mlir::Value hasState(TileBuilder &builder) const;

  /// What a program does in each of its batches, one after another.
  void forBatches(TileBuilder &builder, mlir::Value parts, llvm::function_ref<void()> body);
  /// The same for parts of all batches' blocks of `length` positions. `body` gets the first
  /// position of a block.
  void forBlocks(TileBuilder &builder, mlir::Value parts, int64_t length,
                 llvm::function_ref<void(mlir::Value)> body);

  /// The i-th query head of those that share the program's key head.
  mlir::Value sharingHead(TileBuilder &builder, mlir::Value i) const;
  /// Emits `body` for each query head that shares the states with the program's own.
  void forOtherHeads(TileBuilder &builder, llvm::function_ref<void()> body);
  /// The first of the query heads that the program's key head serves.
  mlir::Value firstHeadOfGroup(TileBuilder &builder) const;
  /// The head of queries or keys that a decay or a state is of.
  mlir::Value headOf(bool queries) const { return queries == rowsOfKeys ? kvHead : head; }
  /// How many query heads a key head serves, and the i-th of those of `head`, where rows are of
  /// keys.
  mlir::Value headsOfGroup(TileBuilder &builder) const;
  mlir::Value headOfGroup(TileBuilder &builder, mlir::Value i) const;

  /// Vectors of the query side, or of the key side, for rows of `columns` positions.
  VectorProgram queryVectors(TileBuilder &builder, const BlockRows &rows, int64_t columns) {
    return VectorProgram(builder, weights, batch, head, rows, columns);
  }
  VectorProgram keyVectors(TileBuilder &builder, const BlockRows &rows, int64_t columns) {
    return VectorProgram(builder, weights, batch, kvHead, rows, columns);
  }

  /// The scores of all lags, by a table of the program's query head.
  mlir::Value lagScores(TileBuilder &builder, RelativeOp op, const LagRows &rows) {
    return lags.get(builder, weights, op, headOf(/*queries=*/true), rows);
  }

  mutable tile::KernelOp kernel; // its accessors are not const
  mlir::Value batch;             // the first one of a program's; in parts that of `forBatches`
  mlir::Value part;              // index: the program's part of the batches; null without parts
  mlir::Value sequence;          // index: that of the states; the batch unless sequences are packed
  mlir::Value head, kvHead;      // of rows, and of what they see
  mlir::Value programHead;       // the one of these that the grid counts
  mlir::Value segment;       // of this program (axis 0 of the grid); null where positions are whole
  mlir::Value queries, keys; // index: sequence lengths
  mlir::Value positions;     // index: those of the tensors; null where all of them count
  mlir::Value slot;          // index: the batch's row in pools of states; null without pools
  mlir::Value isContinued;   // i1: whether that row holds the batch's state; null where it does
  mlir::Value cached;        // index: rows of the call's first local block in pools; null without
  mlir::Value firstPosition; // i64: of row 0 in its sequence; null where that is always 0
  mlir::Value clusterRank;   // index; null without clusters
  WeightTiles weights;
  LagTables lags;

private:
  void setBatch(TileBuilder &builder, mlir::Value number);
  mlir::Value countBatches(TileBuilder &builder) const;
  void forItems(TileBuilder &builder, mlir::Value parts, mlir::Value items,
                llvm::function_ref<void(mlir::Value)> body) const;
  void readSlotAndLength(TileBuilder &builder);
  mlir::Value countCached(TileBuilder &builder, mlir::Value hasSlot) const;
  mlir::Value headsOf(TileBuilder &builder, int64_t tensor) const;
  /// The head of keys that serves a query head.
  mlir::Value servingHead(TileBuilder &builder, const KernelTensors &tensors, mlir::Value head);

  /// The bounds of this program's packed sequence.
  void bindSequence(TileBuilder &builder, mlir::Value offsets);

  KernelTensors tensors;
  mlir::Value firstRow; // index: of the packed sequence; null where none are packed
  mlir::Value group;    // query heads of a key head, where those lie together; else null
  int64_t numInputs, firstWorkspace;
  int64_t queryHeads, keyHeads; // tensors that have them
  bool interleaved, rowsOfKeys;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELFRAME_H
