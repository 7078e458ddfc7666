//===- WeightSums.h - gradients of weights, summed up -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight is a sum over positions, batches and, where heads share the weight,
// heads. A program adds up the blocks of its head in all batches of its part, in their order, in a
// buffer, and stores that in a workspace; a kernel after all others adds what programs have stored,
// in order. The number of parts depends on sizes alone, so that the same call gives the same bits
// with any number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_WEIGHTSUMS_H
#define POLYATTN_CONVERSION_WEIGHTSUMS_H

#include "KernelInfo.h"

namespace polyattn {

class WeightSums {
public:
  /// Makes the buffers, for the kernel where `builder` is, whose workspaces from `first` on take
  /// the sums.
  WeightSums(TileBuilder &builder, llvm::ArrayRef<WeightSum> sums, unsigned first);
  /// How many parts the call has.
  mlir::Value countParts(TileBuilder &builder, const KernelFrame &frame) const {
    return mlir::memref::DimOp::create(builder, frame.workspace(first), builder.index(0));
  }

  /// The buffer to which the pairs of an attend add what they have of each lag.
  mlir::Value lagSumsOf(AttendOp attend) const { return lagSums.lookup(attend); }
  /// Adds the first `valid` positions of a block.
  void add(TileBuilder &builder, VectorProgram &vectors, mlir::Value valid) const;
  /// Stores the sums of the program, each in a workspace of its own.
  void store(TileBuilder &builder, KernelFrame &frame) const;

  /// The workspaces of a kernel's sums, [parts, heads] of each: those of its body and then of the
  /// region `beside`, or of the kernel that adds up groups of heads.
  static llvm::SmallVector<HiddenArgument> tensorsOf(TileBuilder &builder, const KernelInfo &info,
                                                     Stage stage);
  /// The bytes that a program stores.
  static int64_t bytesOf(llvm::ArrayRef<WeightSum> sums);

private:
  llvm::ArrayRef<WeightSum> sums;
  unsigned first;
  llvm::SmallVector<mlir::Value> buffers;
  llvm::DenseMap<mlir::Operation *, mlir::Value> lagSums; // by attends of gradients of tables
};

/// The kernel that adds up what programs have stored, some rows of all weights in each program.
class WeightReduction {
public:
  /// The sums of all kernels, and the gradients that the entry returns.
  WeightReduction(llvm::ArrayRef<KernelInfo> kernels);

  /// Builds the kernel where `builder` is.
  void build(TileBuilder &builder, llvm::StringRef name,
             llvm::ArrayRef<HiddenArgument> workspaces) const;
  /// The axes of its grid: strips of rows, and heads where a weight belongs to one.
  mlir::ArrayAttr grid(mlir::Builder &builder) const;

private:
  /// Whether weights belong to heads of both kinds, of queries and of keys.
  bool headsMayDiffer() const;
  struct Gradient {
    mutable SumWeightsOp op;
    unsigned result; // of the entry
    bool perHead;
    llvm::SmallVector<unsigned> workspaces;
    llvm::SmallVector<bool> transposed; // each of them
    int64_t rows() const;
    int64_t columns() const;
    int64_t strip() const; // rows of a program
  };
  void reduce(TileBuilder &builder, tile::KernelOp kernel, const Gradient &gradient,
              mlir::Value strip, mlir::Value head) const;

  const KernelTensors &tensors;
  std::vector<Gradient> gradients;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_WEIGHTSUMS_H
