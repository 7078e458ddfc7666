//===- TileTransforms/Passes.h - passes from tile to tile -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TILETRANSFORMS_PASSES_H
#define POLYATTN_TILETRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace polyattn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/TileTransforms/Passes.h.inc"

} // namespace polyattn

#endif // POLYATTN_TILETRANSFORMS_PASSES_H
