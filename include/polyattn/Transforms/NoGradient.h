//===- NoGradient.h - a diagnostic that callers may expect ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TRANSFORMS_NOGRADIENT_H
#define POLYATTN_TRANSFORMS_NOGRADIENT_H

#include "mlir/IR/Diagnostics.h"

namespace polyattn {

/// Fails for an entry of which no result depends on what it is differentiated by. A caller may go
/// on without gradients, so the diagnostic has a mark beside its text, for `saysNoGradient`.
mlir::InFlightDiagnostic emitNoGradient(mlir::Operation *entry);
bool saysNoGradient(mlir::Diagnostic &diagnostic);

} // namespace polyattn

#endif // POLYATTN_TRANSFORMS_NOGRADIENT_H
