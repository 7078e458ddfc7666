//===- Gradients.h - gradients of a call, and what checks them --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_GRADIENTS_H
#define POLYATTN_LIB_DRIVER_GRADIENTS_H

#include "Check.h"
#include "polyattn/Reference/Gradient.h"

namespace polyattn::driver {

/// What the oracle says of a backward call with these arguments: a gradient for each result of
/// `backward`, the signature of the gradients of `attention`.
llvm::Expected<std::vector<Array>> askGradients(AttentionOp attention, const Signature &backward,
                                                llvm::ArrayRef<HostTensor> arguments,
                                                const CallSizes &sizes,
                                                const GradientRounding &rounding = {});

/// Holds gradients against central differences of the oracle in f64: random directions, and each
/// element of a small one. A gradient has at least two random directions, and more of both as long
/// as all of them have taken less than `seconds`.
llvm::Expected<CheckReport> checkDifferences(AttentionOp attention, const Signature &backward,
                                             const Inputs &inputs,
                                             llvm::ArrayRef<HostTensor> results,
                                             std::optional<double> tolerance, uint64_t seed,
                                             double seconds = 10);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_GRADIENTS_H
