//===- Passes.h - passes from polyattn to polyattn --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each pass does, with an example, is said in lib/Transforms/NAMEPasses.td.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TRANSFORMS_PASSES_H
#define POLYATTN_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "polyattn/Target/GPUDescription.h"
#include <memory>

namespace polyattn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Passes.h.inc"

} // namespace polyattn

#endif // POLYATTN_TRANSFORMS_PASSES_H
