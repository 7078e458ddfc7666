//===- ProgramIds.h - the coordinates of a program --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_PROGRAMIDS_H
#define POLYATTN_LIB_CONVERSION_PROGRAMIDS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace polyattn {

/// Takes a program's number apart: its coordinates in a grid whose last axis is counted fastest.
/// `sizes` are those of all axes but the first, in the number's type. A grid without axes has one
/// program, of no coordinates.
inline llvm::SmallVector<mlir::Value> coordinatesOf(mlir::ImplicitLocOpBuilder &builder,
                                                    mlir::Value program, unsigned axes,
                                                    mlir::ValueRange sizes) {
  llvm::SmallVector<mlir::Value> coordinates;
  if (axes == 0)
    return coordinates;
  // How many programs have one coordinate in common.
  llvm::SmallVector<mlir::Value> strides(sizes);
  for (unsigned i = strides.size(); i-- > 1;)
    strides[i - 1] = mlir::arith::MulIOp::create(builder, strides[i - 1], strides[i]);
  for (mlir::Value stride : strides) {
    coordinates.push_back(mlir::arith::DivUIOp::create(builder, program, stride));
    program = mlir::arith::RemUIOp::create(builder, program, stride);
  }
  coordinates.push_back(program);
  return coordinates;
}

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_PROGRAMIDS_H
