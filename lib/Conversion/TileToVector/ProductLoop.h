//===- ProductLoop.h - the terms of a register tile -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_PRODUCTLOOP_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_PRODUCTLOOP_H

#include "MicroKernel.h"

namespace polyattn::tile_to_vector {

/// Lines one below the other that a product fetches while it computes.
struct FetchStream {
  mlir::Value pointer; ///< the next one
  Offset stride;
  mlir::Type element;
  bool written;
};

/// The loop over the terms of products that have one micro-kernel, bound and number of terms. It
/// carries the sums of a register tile, product by product, then the pointers of the operands, then
/// those of what is fetched meanwhile.
class ProductLoop {
public:
  ProductLoop(Emitter &e, llvm::ArrayRef<Product> products, const RegisterTile &tile);
  /// The iterations of the loop over all terms.
  int64_t iterations() const { return first().depth / iterationTerms(); }
  void fetch(llvm::SmallVector<FetchStream> lines) { streams = std::move(lines); }
  /// Adds all products to the sums.
  Vectors run(Vectors accumulators);

private:
  /// An operand's walk from a pointer that others may share.
  struct Operand {
    unsigned pointer;
    OperandWalk walk;
    mlir::Type element;
  };

  const Product &first() const { return products.front(); }
  int64_t iterationTerms() const { return unroll * kernel.termsPerStep(); }
  Operand begin(const TileMemory &storage, Offset start, OperandWalk walk);
  Vectors accumulatorsOf(mlir::ValueRange carried) const {
    return Vectors(carried.take_front(numAccumulators));
  }
  mlir::ValueRange pointersOf(mlir::ValueRange carried) const {
    return carried.slice(numAccumulators, pointers.size());
  }
  /// Which terms of a step count for a row of the tile; none for a row that takes no part.
  using TermsOfRow = llvm::function_ref<std::optional<Terms>(int64_t row)>;
  Vectors step(mlir::ValueRange at, int64_t number, Vectors accumulators, TermsOfRow termsOf);
  Vectors advance(Vectors accumulators, mlir::ValueRange at, int64_t steps);
  Vectors iteration(mlir::ValueRange carried);
  Vectors iterationOfOneStep(mlir::ValueRange carried, Terms terms);
  void addTerms(Offset to, bool isMultiple);
  void addTriangle();
  void addTriangle(Offset end);
  Vectors addTermOfTriangle(mlir::ValueRange carried, mlir::Value term, Terms terms);
  void addLowerRows(Offset end);
  void addUpperRows(Offset end);

  Emitter &e;
  llvm::ArrayRef<Product> products;
  const RegisterTile &tile;
  const MicroKernel &kernel;
  int64_t unroll;                      ///< steps of one iteration
  llvm::SmallVector<Operand> lhs, rhs; ///< of each product
  Vectors pointers;                    ///< where they begin
  llvm::SmallVector<Offset> strides;
  llvm::SmallVector<mlir::Type> elements;
  llvm::SmallVector<FetchStream> streams;
  Vectors carried;
  size_t numAccumulators = 0;
};

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_PRODUCTLOOP_H
