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

/// What multiplies the elements of a register tile with instructions of one kind. The loops around
/// it, over register tiles (Nest.cpp) and over terms (ProductLoop.h), are the same for all kinds.
class MicroKernel {
public:
  virtual ~MicroKernel() = default;

  /// The terms of a sum that one step takes, a power of two. The sums of a triangle take one term
  /// more or less in each row, so that a kernel of several terms needs zeros on the other side of
  /// the diagonal of its left factor.
  virtual int64_t termsPerStep() const = 0;
  /// The register tile for products that are computed together, each `depth` terms long, into a
  /// result of so many rows and vectors.
  virtual TileShape chooseShape(const MachineDescription &machine, ProductGroup group,
                                int64_t depth, int64_t rows, int64_t vectors) const = 0;
  /// How the operands lie: what storages it reads, and in which order.
  virtual OperandWalk walkLhs(const Product &product, int64_t rows) const = 0;
  virtual OperandWalk walkRhs(const Product &product, int64_t vectors, int64_t width) const = 0;
  /// The terms of one step: those of a row of A for all lanes, and those of a vector of B.
  virtual mlir::Value loadLhs(Emitter &e, mlir::Type element, mlir::Value pointer,
                              Offset offset) const = 0;
  virtual mlir::Value loadRhs(Emitter &e, mlir::Type element, mlir::Value pointer,
                              Offset offset) const = 0;
  /// The sum with the products of these terms.
  virtual mlir::Value multiplyAdd(Emitter &e, mlir::Value a, mlir::Value b,
                                  mlir::Value sum) const = 0;
};

/// The micro-kernel for operands of these elements and a precision; null where there is none that
/// the machine can execute.
const MicroKernel *findMicroKernel(tile::Precision precision, mlir::Type lhs, mlir::Type rhs,
                                   const MachineDescription &machine);

/// Multiply-adds of vectors as wide as the registers, in f32 or f64 (Fma.cpp).
const MicroKernel &fmaKernel();

/// The steps of an iteration over the terms of a register tile of so many rows and vectors, one,
/// two or four: as many as hide the loop's own instructions. More would take time to compile and
/// none off a call.
int64_t stepsPerIteration(const MachineDescription &machine, int64_t products, int64_t rows,
                          int64_t vectors);

/// How many vectors wide a panel of B is whose `depth` rows take half of L1: four or two.
int64_t panelVectors(const MachineDescription &machine, int64_t depth);

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_MICROKERNEL_H
