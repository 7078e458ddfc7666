//===- PolyAttn.h - the polyattn dialect ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_POLYATTN_H
#define POLYATTN_DIALECTS_POLYATTN_H

#include "dialects/Attributes/KnownAttributes.h"
#include "dialects/PolyAttn/BlockStates.h"
#include "dialects/PolyAttn/FeatureOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "polyattn/Features/Structure.h"

namespace polyattn {
/// A state that is an argument, or a sum of some (`add_states`); null where none is given.
struct GivenState {
  mlir::Value state, normalizer;
  bool isTransposed = false; // [B, H, dv, D]
};
} // namespace polyattn

#include "dialects/PolyAttn/PolyAttnDialect.h.inc"
#include "dialects/PolyAttn/PolyAttnEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/PolyAttn/PolyAttnTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/PolyAttn/PolyAttnAttrs.h.inc"

#include "dialects/PolyAttn/StateUpdateInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/PolyAttn/PolyAttnOps.h.inc"

namespace polyattn {
/// Whether the pair of two positions takes its score from the local vectors of an attend, or of the
/// attend whose gradients an op gives.
template <typename Op> bool isLocalPair(Op op, int64_t i, int64_t j) {
  if (!op.getLocalQuery())
    return false;
  auto block = int64_t(*op.getBlock());
  return op.getSliding() ? std::abs(i - j) < block : i / block == j / block;
}
} // namespace polyattn

#endif // POLYATTN_DIALECTS_POLYATTN_H
