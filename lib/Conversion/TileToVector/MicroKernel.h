//===- MicroKernel.h - how a register tile is multiplied --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_MICROKERNEL_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_MICROKERNEL_H

#include "Product.h"

namespace polyattn::tile_to_vector {

/// How one operand lies along the terms: elements at fixed displacements from a pointer, which each
/// step moves by a fixed stride.
struct OperandWalk {
  Offset stride;
  /// Displacements of the tile's rows in A, or of its vectors in B.
  llvm::SmallVector<int64_t> displacements;
};

/// Products that are computed together, and how many different right operands they have.
struct ProductGroup {
  int64_t products = 1, rightOperands = 1;
};

/// Which terms of a step count: all, or of two terms the first or the second alone.
enum class Terms { All, First, Second };

/// What multiplies the elements of a register tile with instructions of one kind. The loops around
/// it, over register tiles (Nest.cpp) and over terms (ProductLoop.h), are the same for all kinds.
///
/// One element of A in all lanes times a vector of B, for each step. A lies by rows, or transposed,
/// by rows or in panels; B by rows. A step of two terms reads a word of 32 bits that holds both
/// (`MemoryShape`).
class MicroKernel {
public:
  virtual ~MicroKernel() = default;

  /// The terms of a sum that one step takes, one or two.
  virtual int64_t termsPerStep() const = 0;
  /// The register tile for products that are computed together, each `depth` terms long, into a
  /// result of so many rows and vectors.
  TileShape chooseShape(const MachineDescription &machine, ProductGroup group, int64_t depth,
                        int64_t rows, int64_t vectors) const;
  /// How the operands lie: what storages it reads, and in which order.
  OperandWalk walkLhs(const Product &product, int64_t rows) const;
  OperandWalk walkRhs(const Product &product, int64_t vectors, int64_t width) const;
  /// The terms of one step: those of a row of A for all lanes, and those of a vector of B. Terms
  /// that do not count are zeros.
  virtual mlir::Value loadLhs(Emitter &e, mlir::Type element, mlir::Value pointer, Offset offset,
                              Terms terms) const = 0;
  virtual mlir::Value loadRhs(Emitter &e, mlir::Type element, mlir::Value pointer,
                              Offset offset) const = 0;
  /// A vector of B without the terms that do not count.
  virtual mlir::Value keep(Emitter &e, mlir::Value vector, Terms terms) const = 0;
  /// The sum with the products of these terms.
  virtual mlir::Value multiplyAdd(Emitter &e, mlir::Value a, mlir::Value b,
                                  mlir::Value sum) const = 0;
};

/// The micro-kernel for operands of these types, of which the left one may be transposed, and a
/// precision; null where there is none that the machine can execute.
const MicroKernel *findMicroKernel(tile::Precision precision, tile::TileType lhs,
                                   bool lhsTransposed, tile::TileType rhs,
                                   const MachineDescription &machine);

/// Multiply-adds of vectors as wide as the registers, in f32 or f64 (Fma.cpp).
const MicroKernel &fmaKernel();
/// Products of two pairs of bf16, added to f32, in AVX-512 (BF16Pairs.cpp).
const MicroKernel &bf16PairsKernel();

/// The steps of an iteration over the terms of a register tile of so many rows and vectors, one,
/// two or four: as many as hide the loop's own instructions. More would take time to compile and
/// none off a call.
int64_t stepsPerIteration(const MachineDescription &machine, int64_t products, int64_t rows,
                          int64_t vectors);

/// How many vectors wide a panel of B is whose `depth` rows take half of L1: four or two.
int64_t panelVectors(const MachineDescription &machine, int64_t depth);

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_MICROKERNEL_H
