//===- RegisterPressure.h - registers that a thread needs -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_REGISTERPRESSURE_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_REGISTERPRESSURE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace polyattn::tile_to_warp {

/// How many registers of 32 bits the values of a kernel take that are live at one time, in the
/// order of its text: accumulators, fragments on their way, addresses. A constant and a parameter
/// take none, and neither does the sum of an address and a constant, which instructions form.
/// An assembler that moves loads up needs more, one that computes addresses again needs less.
class RegisterPressure {
public:
  explicit RegisterPressure(mlir::gpu::GPUFuncOp kernel);

  /// The most in the kernel.
  int64_t most() const { return mostInKernel; }
  /// The most inside a loop or a branch, with what lives on behind it.
  int64_t within(mlir::Operation *op) const { return mostWithin.lookup(op); }
  /// The registers of a value's type.
  static int64_t registersOf(mlir::Type type);

private:
  class Walk;
  int64_t mostInKernel = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> mostWithin;
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_REGISTERPRESSURE_H
