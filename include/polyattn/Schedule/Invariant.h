//===- Invariant.h - results that depend on their sequence only -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_INVARIANT_H
#define POLYATTN_SCHEDULE_INVARIANT_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// On a module: a head is computed by one program in one order. Its features are not cut into parts
/// nor its positions into segments, so a sequence's bits do not depend on its batch, on threads, on
/// the number of processors, or on where a prefill is cut at multiples of a block.
inline void setInvariant(mlir::ModuleOp module) {
  module->setAttr(PolyAttnDialect::kInvariantAttrName, mlir::UnitAttr::get(module.getContext()));
}

inline bool isInvariant(mlir::ModuleOp module) {
  return module->hasAttr(PolyAttnDialect::kInvariantAttrName);
}

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_INVARIANT_H
