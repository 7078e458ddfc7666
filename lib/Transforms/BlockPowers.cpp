//===- BlockPowers.cpp - symmetric powers in blocks -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreForm.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_BLOCKPOWERS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

namespace {
struct BlockPowers : polyattn::impl::BlockPowersBase<BlockPowers> {
  using BlockPowersBase::BlockPowersBase;

  void runOnOperation() override {
    if (block < 1 || growth < 1) {
      getOperation().emitError("blocks have at least one number, and powers do not shrink in them");
      return signalPassFailure();
    }
    getOperation().walk([&](AttendOp op) {
      // Features of f32 are formed in memory, where more of them only take longer.
      if (!needsScoresOnly(op) || !AttentionShape::of(op).isBF16)
        return;
      OpBuilder builder(op);
      Value query = blocked(builder, op.getQuery()), key = blocked(builder, op.getKey());
      if (query == op.getQuery() || query.getType() != key.getType())
        return;
      op.getQueryMutable().assign(query);
      op.getKeyMutable().assign(key);
    });
  }

  bool isWorthIt(PowerOp power) {
    int64_t before = power.getBlock().value_or(1);
    if (!power.getSymmetric() || before == block || power.getAbs() || power.getDegree() != 2)
      return false;
    const Structure &base = cast<FeatureType>(power.getInput().getType()).getStructure();
    if (base.width() % block)
      return false;
    auto features = [&](int64_t block) {
      return double(Structure::symmetricPower(base, 2, block).width());
    };
    return features(block) <= growth * features(before);
  }

  /// The vector with its powers in blocks; the vector itself where there are none.
  Value blocked(OpBuilder &builder, Value vector) {
    Location loc = vector.getLoc();
    if (auto power = vector.getDefiningOp<PowerOp>(); power && isWorthIt(power))
      return PowerOp::create(builder, loc, power.getInput(), power.getDegree(), /*symmetric=*/true,
                             builder.getI64IntegerAttr(block));
    if (auto scale = vector.getDefiningOp<ScaleOp>()) {
      Value input = blocked(builder, scale.getInput());
      return input == scale.getInput()
                 ? vector
                 : ScaleOp::create(builder, loc, input, scale.getFactorAttr());
    }
    return vector;
  }
};
} // namespace
