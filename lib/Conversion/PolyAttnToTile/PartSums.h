//===- PartSums.h - rows that several programs have parts of ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PARTSUMS_H
#define POLYATTN_CONVERSION_PARTSUMS_H

#include "Accumulators.h"
#include "ProgramContext.h"

namespace polyattn {

/// The accumulators of rows of which several programs have parts: those of a head that is cut by
/// its features, or the query heads of a group. They store them in workspace 0, and another kernel
/// adds them.
class PartSums {
public:
  PartSums(const KernelInfo &info, const ProgramContext &context) : info(info), context(context) {}

  /// Stores N of each attend and its Z beside it.
  void store(TileBuilder &builder, llvm::ArrayRef<Accumulators> accumulators,
             const BlockSpan &span) const;
  /// The sums of `count` parts, whose first indices `indicesOf` gives, before those of the column.
  llvm::SmallVector<Accumulators>
  add(TileBuilder &builder, mlir::Value count, const BlockSpan &span,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)> indicesOf) const;

private:
  mlir::Value ownColumn(TileBuilder &builder, int64_t first, int64_t width) const;
  mlir::Value isFirstProgram(TileBuilder &builder) const;

  const KernelInfo &info;
  const ProgramContext &context;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PARTSUMS_H
