//===- ApproximateMath.h - functions become arithmetic ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_APPROXIMATEMATH_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_APPROXIMATEMATH_H

#include "mlir/Pass/Pass.h"

namespace polyattn {

/// A pass over functions: exp, tanh, log, ... of vectors of f32 become polynomials.
std::unique_ptr<mlir::Pass> createApproximateMathPass();

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_APPROXIMATEMATH_H
