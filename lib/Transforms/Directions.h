//===- Directions.h - the entries of both directions ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TRANSFORMS_DIRECTIONS_H
#define POLYATTN_LIB_TRANSFORMS_DIRECTIONS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// What of an attend's rows the gradients need, by the names that both entries have for it.
struct Kept {
  std::string output, factors, states; // empty where they are not needed
  mlir::RankedTensorType outputType;
  std::optional<BlockStates> statesLayout = {}; // of the states after blocks
  bool isResult = false;                        // the output is returned as it is anyway
};
/// Says what is kept of each attend, in the order of the body; with `stateEvery` not 0, the states
/// after so many positions each, of the attends whose gradients are read from them. Fails with a
/// diagnostic where there are none.
mlir::FailureOr<llvm::SmallVector<Kept>> keptOf(AttentionOp attention, int64_t stateEvery);

/// @NAME__forward after the attention: the same with what is kept as further results.
AttentionOp buildForward(AttentionOp attention, llvm::ArrayRef<Kept> kept);
/// @NAME__backward after the attention, by the arguments that are wanted. Leaves in `kept` what
/// it reads. Fails with a diagnostic where a rule refuses.
mlir::FailureOr<AttentionOp> buildBackward(AttentionOp attention, llvm::MutableArrayRef<Kept> kept,
                                           llvm::ArrayRef<unsigned> wanted);

/// Rows of f32 for every position and head, [B, T, H, width].
mlir::RankedTensorType rowsType(mlir::MLIRContext *context, int64_t width);
/// A copy of the attention after it, with a longer name.
AttentionOp cloneAs(AttentionOp attention, llvm::StringRef suffix);
mlir::ArrayAttr withStrings(mlir::ArrayAttr names, llvm::ArrayRef<std::string> more);

} // namespace polyattn

#endif // POLYATTN_LIB_TRANSFORMS_DIRECTIONS_H
