//===- ResidencyAnalysis.h - which values are kept, and in which memory -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_RESIDENCYANALYSIS_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_RESIDENCYANALYSIS_H

#include "MemoryPlan.h"
#include "Precision.h"
#include "lib/TileAnalysis/Divisibility.h"
#include "lib/TileAnalysis/Liveness.h"
#include "lib/TileAnalysis/TileValues.h"

namespace polyattn::tile_to_warp {

enum class Residency {
  /// Computed where it is used, in whatever layout the user needs.
  Deferred,
  /// In the accumulators of the tensor cores.
  Registers,
  /// In shared memory, or in the workspace where that is full.
  Memory,
};

/// Whether all elements of each row are added up.
inline bool addsColumns(tile::ReduceOp reduce) {
  return reduce.getKind() == tile::ReduceKind::Add && reduce.getAxis() == tile::Axis::Columns &&
         reduce.getTriangle() == tile::Triangle::None;
}

/// A sum over the columns of a matrix, each times an element of a row vector where there is one.
struct ColumnSum {
  mlir::Value matrix, weights; // weights may be null

  /// The sum that a reduction computes; an element-wise product that nothing else needs becomes
  /// matrix and weights.
  static ColumnSum of(tile::ReduceOp reduce);
};

/// Whether a program loads this before its loops, as it is for all positions: rows of positions
/// have a bound.
bool isWeight(tile::LoadOp load);

/// Whether a map alone reads a matrix that a loop's iterations load.
bool isReadByMap(tile::LoadOp load);

/// Facts about the values of a kernel. Nothing is changed and nothing is emitted.
class ResidencyAnalysis {
public:
  ResidencyAnalysis(tile::KernelOp kernel, int64_t warps, const MemoryPlan &plan);

  Residency of(mlir::Value value) const;
  /// How warps share a product's result. Where a product's left factor is computed from another
  /// product, results of 16 rows for each warp are cut by rows alone: that factor never leaves the
  /// registers in which its warp has it.
  WarpLayout layoutOf(int64_t rows, int64_t columns, int64_t lhsCount = 1) const;
  /// What the tensor cores multiply.
  warp::OperandKind operandKind() const { return kind; }
  /// Whether factors are cut in two, so that products have the precision of f32.
  bool splitsOperands() const { return split; }
  /// Whether products round matrices to bf16. Memory then has their operands in bf16, and row sums
  /// of such matrices are computed by the tensor cores.
  bool roundsToBF16() const { return kind == warp::OperandKind::BF16 && !split; }
  /// Whether a rounding addition takes the sum of each step of products, since tensor cores cut
  /// sums off where f32 ends: over many terms that is more than split factors keep. Tensors of 16
  /// bits round more than that.
  bool roundsSums() const { return rounds; }
  /// The type of a value in memory.
  mlir::Type elementType(mlir::Value value) const;
  /// Whether memory keeps what is loaded as the tensor has it.
  bool keepsElementType(tile::LoadOp load) const;
  /// Whether bf16 products have a window of this buffer as a factor.
  bool isReadByProducts(tile::BufferOp buffer) const;
  /// Whether every user of these features is a product, or a sum, that forms them in registers:
  /// they are never in memory.
  bool isFormedByProducts(tile::MonomialsOp monomials) const;
  /// Whether evaluating a value computes a product or reads accumulators: then it is evaluated as
  /// these lie.
  bool needsAccumulatorLayout(mlir::Value value) const;
  bool readsRegisters(mlir::Value value) const;
  /// The number of products that evaluating `value` computes.
  int64_t countDots(mlir::Value value) const;
  /// Whether computing a value that is then kept reads registers or computes products.
  bool computesFromRegisters(mlir::Value value) const;
  int64_t countDotsInside(mlir::Value value) const;
  /// Whether whole fragments that cover a window read more than its source has with its padding:
  /// such a window is kept, in memory of its own.
  bool leavesSource(tile::SliceOp slice) const;
  /// Whether the next value of a tile that a loop carries in memory can be written over the one
  /// before while it is computed: no thread then reads what another one writes.
  bool replacesInPlace(mlir::OpOperand &yielded) const;
  /// The last op in the block of `value` that reads its memory, in program order.
  mlir::Operation *lastUse(mlir::Value value) const;

private:
  void chooseDistantWeights(tile::KernelOp kernel);
  Residency decide(mlir::Value value) const;
  Residency decideLoad(tile::LoadOp load) const;
  Residency decideCarried(mlir::scf::ForOp loop, unsigned i) const;
  bool isCheapAgain(mlir::Value value) const;
  bool isDeferrable(mlir::Value value) const;
  bool accepts(mlir::OpOperand &use, mlir::Value producer) const;
  bool fitsRegisters(mlir::Value value) const;
  bool hasWholeRows(mlir::Value value) const;
  bool staysInRegisters(mlir::Value value) const;
  bool passesOnRows(tile::DotOp dot) const;
  int64_t numbersKeptAt(mlir::Operation *op) const;
  bool isDeferred(mlir::Value value) const { return of(value) == Residency::Deferred; }
  bool evaluatesOnWarpGrid(mlir::Value value) const;
  bool isOperand(mlir::Value value) const;
  bool needsStaging(tile::ReadOp read) const;
  bool readsCarried(mlir::Value value, mlir::Block *loop, mlir::Value own) const;

  llvm::DenseMap<mlir::Value, Residency> residencies;
  int64_t warps;
  const MemoryPlan &plan;
  warp::OperandKind kind;
  bool split, rounds;
  bool keepsRows = false; // some product's left factor is computed from another product
  llvm::DenseSet<mlir::Operation *> uncachedWeights;
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_RESIDENCYANALYSIS_H
