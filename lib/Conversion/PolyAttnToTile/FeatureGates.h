//===- FeatureGates.h - a decay of each feature -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In gated linear attention (Yang et al. 2024, equation 3) the score of query i and key j is
//
//     sum over features c of query_ic key_jc w_{j+1,c} ... w_{i,c},   w = exp(gate).
//
// Products of two factors, one of the query and one of the key, would need exp(-sum of gates),
// which leaves the range of f32 for strong gates. So a block goes through its keys from the last
// one to the first, and carries queries that have decayed until the key at hand: all factors are
// the gates in between, and nothing is divided.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_FEATUREGATES_H
#define POLYATTN_CONVERSION_FEATUREGATES_H

#include "StateUpdate.h"

namespace polyattn {

/// The gates of a `channel_state`, [B, T, H, D] in memory.
class FeatureGates {
public:
  FeatureGates(ChannelStateOp op, const ProgramContext &context) : op(op), context(context) {}

  /// exp of the gates of features [first, first + count) at a block's positions, [count x C]; 1
  /// where there are no positions.
  mlir::Value inBlock(TileBuilder &builder, const KeyBlock &block, mlir::Value first,
                      int64_t count) const;
  /// The sums of the gates at all positions of a sweep, [count x 1].
  mlir::Value sum(TileBuilder &builder, const Sweep &sweep, mlir::Value first, int64_t count) const;
  /// exp of all gates of the call's one token, [1 x D].
  mlir::Value ofToken(TileBuilder &builder) const;

private:
  /// The head whose gates a state has.
  mlir::Value head() const { return context.frame.heads.of(op.getGateHeads() == GateHeads::Q); }
  mlir::Value load(TileBuilder &builder, const KeyBlock &block, mlir::Value first,
                   int64_t count) const;

  mutable ChannelStateOp op; // its accessors are not const
  const ProgramContext &context;
};

/// Some features of a block with their decays, [count x C].
struct DecayedFeatures {
  mlir::Value queries; // until the query, from before the block on; null without queries
  mlir::Value keys;    // until the block's end
  mlir::Value factor;  // [count x 1], of the whole block
  BlockSums sums;      // of the queries, those over the block's keys included
};

/// Decays features by `gates`, [count x C]. `queries` may be null. `valid` positions exist.
/// `values` are [C x dv]. What the queries have of the block's keys is added to `sums`.
DecayedFeatures decayFeatures(TileBuilder &builder, mlir::Value gates, mlir::Value queries,
                              mlir::Value keys, mlir::Value valid, mlir::Value values,
                              const BlockSums &sums);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_FEATUREGATES_H
