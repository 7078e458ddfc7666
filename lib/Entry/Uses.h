//===- Uses.h - how a body uses its arguments -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ENTRY_USES_H
#define POLYATTN_ENTRY_USES_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "polyattn/Tensor/Role.h"

namespace polyattn {

/// How an argument is used in the body.
struct Uses {
  bool query = false, key = false; // sides that read it
  bool asKey = false;              // reaches an attend as key, not only as value
  bool decay = false, state = false;
  bool keptDecay = false; // the rows of a decay in a pool
  bool gateHeads = false; // a decay or state of query heads
  bool isShared = false;  // has heads that others share: a sequence, or the rows kept of it
  bool gain = false, frequencies = false, lags = false;
  std::optional<int64_t> mostPositions; // that a call may have
  std::optional<Role> numbers;          // what the whole numbers are that it holds
};

/// [T, H, d] or [T, 1, d], not a weight per head.
bool isPositional(llvm::ArrayRef<int64_t> shape);

/// Reads off a body who is used where.
class UseAnalysis {
public:
  explicit UseAnalysis(AttentionOp attention);

  std::vector<Uses> uses;
  bool samePositions = false, sameHeads = false, hasTableRows = false;
  llvm::SmallVector<AttendOp> attends;

private:
  enum class Side { Query, Key, Value };

  void visitAttend(AttendOp attend);
  void visitState(StateUpdateInterface state);
  void visitBackward(AttendBackwardOp backward);
  void markGivenStates(mlir::Value decay, llvm::ArrayRef<mlir::Value> states, bool perQueryHead);
  void visitKept(KeepOp keep);
  void visitResult(mlir::Value value);
  void visitSum(mlir::Value sum, mlir::Value added);
  /// Marks every argument that a vector is computed from.
  void markSide(mlir::Value value, Side side);
  /// Notes what a vector is for, looking through `read` and `apply`.
  void visitWeightUse(mlir::OpOperand &operand);
  void classify(mlir::OpOperand &operand, Uses &use);

  llvm::SmallVector<KeepOp> kept;
  llvm::DenseSet<mlir::Value> seen[3];
};

} // namespace polyattn

#endif // POLYATTN_ENTRY_USES_H
