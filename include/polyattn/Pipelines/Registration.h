//===- Registration.h - dialects and passes of the project ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PIPELINES_REGISTRATION_H
#define POLYATTN_PIPELINES_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace polyattn {

/// The dialects of every level from a spec down to the LLVM dialect.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass and pipeline, under the names that polyattn-opt takes.
void registerPasses();

} // namespace polyattn

#endif // POLYATTN_PIPELINES_REGISTRATION_H
