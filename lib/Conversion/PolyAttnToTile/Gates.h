//===- Gates.h - what decays a state ----------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_GATES_H
#define POLYATTN_CONVERSION_GATES_H

#include "BlockDecay.h"
#include "ProgramContext.h"

namespace polyattn {

/// The decay of an attend, or of the state that it reads, by one number for all features.
class Gates {
public:
  template <typename Op>
  Gates(Op op, const ProgramContext &context)
      : decay(op.hasDecayOfFeatures() ? mlir::Value() : mlir::Value(op.getDecay())),
        factors(op.getDecayFactors()), ofQueries(op.getGateHeads() == GateHeads::Q),
        context(context) {}

  bool exist() const { return decay || factors; }
  /// Whether they differ from position to position.
  bool differByPosition() const;
  /// The head whose gates a state has, and so the head of the state.
  mlir::Value head() const { return context.frame.heads.of(ofQueries); }
  /// The decay between the positions of a block, the first `valid` of which exist. There is none
  /// without an order.
  BlockDecay inBlock(TileBuilder &builder, mlir::Value position, mlir::Value valid,
                     KeySource source = KeySource::Call) const;
  /// The gate of the call's one token, no logarithm, [1 x 1]; null without a decay.
  mlir::Value ofToken(TileBuilder &builder) const;

private:
  mlir::Value decay;                             // null where there are factors, or none
  std::optional<llvm::ArrayRef<double>> factors; // of heads
  bool ofQueries;
  const ProgramContext &context;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_GATES_H
