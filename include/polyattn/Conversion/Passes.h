//===- Conversion/Passes.h - passes from one level to the next --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each pass does is said in lib/Conversion/NAMEPasses.td.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PASSES_H
#define POLYATTN_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "polyattn/Target/GPUDescription.h"
#include <memory>

namespace polyattn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Conversion/Passes.h.inc"

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PASSES_H
