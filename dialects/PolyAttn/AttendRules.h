//===- AttendRules.h - what attends of both directions ask ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_ATTENDRULES_H
#define POLYATTN_DIALECTS_ATTENDRULES_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// [?, ?, sizes...] of f32.
bool isStateTensor(mlir::Value value, llvm::ArrayRef<int64_t> sizes);
/// The same, or without the last size where that is 1.
bool isStateOrColumn(mlir::Value value, llvm::ArrayRef<int64_t> sizes);
/// Whether a decay is an argument of the attention and each state an argument or a sum of some.
/// Values that are null are not there.
bool areGiven(mlir::Value decay, llvm::ArrayRef<mlir::Value> states);

/// Whether a decay is one of each feature, [B, T, H, D]. It may be null.
bool isDecayOfFeatures(mlir::Value decay);

/// Parses `causal`, `anticausal` or `full` as the attribute `mask`.
mlir::ParseResult parseMask(mlir::OpAsmParser &parser, mlir::OperationState &result);

/// The shapes of an initial state and its normalizer, which the attend or the state has where
/// `normalized` says so; errors begin with the constraint's name.
template <typename Op>
mlir::LogicalResult verifyInitialState(Op op, bool normalized, llvm::StringRef constraint) {
  mlir::Value state = op.getInitialState(), normalizer = op.getInitialNormalizer();
  if (op.getInitialTransposed() && !state)
    return op.emitOpError(constraint) << ": there is no initial state to be transposed";
  if (!state && normalizer)
    return op.emitOpError(constraint) << ": an initial normalizer needs an initial state";
  if (!state)
    return mlir::success();
  int64_t width = op.getKey().getType().getWidth();
  // After batch and head, [D, dv] or the transpose.
  llvm::SmallVector<int64_t, 2> sizes = {width, op.getValue().getType().getWidth()};
  if (op.getInitialTransposed())
    std::swap(sizes[0], sizes[1]);
  if (!isStateOrColumn(state, sizes))
    return op.emitOpError(constraint) << ": expected an initial state tensor<?x?x" << sizes[0]
                                      << "x" << sizes[1] << "xf32>, got " << state.getType();
  if (normalized != bool(normalizer))
    return op.emitOpError(constraint) << ": an initial normalizer is given where, and only where, "
                                         "there is a normalizer";
  if (normalizer && !isStateTensor(normalizer, {width}))
    return op.emitOpError(constraint) << ": expected an initial normalizer tensor<?x?x" << width
                                      << "xf32>, got " << normalizer.getType();
  return mlir::success();
}

/// The decay's mask and form, and its shape and numbers; errors begin with the constraints' names.
template <typename Op>
mlir::LogicalResult verifyDecay(Op op, llvm::StringRef form, llvm::StringRef shape) {
  if (!op.hasDecay())
    return mlir::success();
  if (op.getDecay() && op.getDecayFactors())
    return op.emitOpError(form) << ": a decay is a tensor or a list, not both";
  if (op.getMask() == Mask::Full)
    return op.emitOpError(form) << ": a decay needs a mask with an order, which `full` has not";
  if (op.getDecay()) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(op.getDecay().getType());
    int64_t features = op.getKey().getType().getWidth();
    bool ofFeatures = isDecayOfFeatures(op.getDecay());
    llvm::ArrayRef<int64_t> heads = tensor.getShape().take_front(3);
    bool shapeFits = (tensor.getRank() == 3 || tensor.getRank() == 1 || ofFeatures) &&
                     llvm::all_of(heads, mlir::ShapedType::isDynamic) &&
                     (!ofFeatures || tensor.getShape().back() == features);
    if (!tensor.getElementType().isF32() || !shapeFits)
      return op.emitOpError(shape) << ": a decay is tensor<?x?x?xf32>, per token and head, "
                                      "tensor<?xf32>, per head, or tensor<?x?x?x"
                                   << features << "xf32>, per token and feature; got " << tensor;
    return mlir::success();
  }
  llvm::ArrayRef<double> factors = *op.getDecayFactors();
  if (factors.empty())
    return op.emitOpError(shape) << ": `decay_factors` has a number for each head, and is empty; "
                                    "leave it out where nothing decays";
  for (double factor : factors)
    if (!(factor > 0 && factor <= 1))
      return op.emitOpError(shape) << ": a decay factor must be in (0, 1], got " << factor;
  return mlir::success();
}

} // namespace polyattn

#endif // POLYATTN_DIALECTS_ATTENDRULES_H
