//===- InlineMaps.cpp - feature maps put where they are applied -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/IRMapping.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_INLINEMAPS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

namespace {

/// Inlines the maps of one attention, first op to last, so that a read which was made for
/// one map dominates those that come later.
class AttentionInliner {
public:
  AttentionInliner(AttentionOp attention, SymbolTable &symbols)
      : body(attention.getBody().front()), symbols(symbols) {}

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (auto read = dyn_cast<ReadOp>(op))
        reads.try_emplace({read.getTensor(), read.getType()}, read.getResult());
      else if (auto apply = dyn_cast<ApplyOp>(op))
        if (failed(inlineApply(apply)))
          return failure();
    }
    return success();
  }

private:
  Value readOnce(OpBuilder &builder, Location loc, Value tensor, Type type) {
    Value &read = reads[{tensor, type}];
    if (!read)
      read = ReadOp::create(builder, loc, type, tensor);
    return read;
  }

  /// Replaces the op by a copy of its map's body. Maps apply no other maps.
  LogicalResult inlineApply(ApplyOp apply) {
    auto map = symbols.lookup<FeatureMapOp>(apply.getMap());
    if (!map)
      return apply.emitError("there is no feature map ") << apply.getMapAttr();

    OpBuilder builder(apply);
    IRMapping copies;
    for (auto [input, parameter] : llvm::zip(apply.getInputs(), map.getBody().getArguments())) {
      bool isTensor = isa<RankedTensorType>(input.getType());
      copies.map(parameter,
                 isTensor ? readOnce(builder, apply.getLoc(), input, parameter.getType()) : input);
    }
    for (Operation &op : map.getBody().front().without_terminator())
      builder.clone(op, copies);
    apply.getResult().replaceAllUsesWith(copies.lookup(map.getFeatures()));
    apply.erase();
    return success();
  }

  Block &body;
  SymbolTable &symbols;
  llvm::DenseMap<std::pair<Value, Type>, Value> reads;
};

struct InlineMaps : polyattn::impl::InlineMapsBase<InlineMaps> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto attention : getOperation().getOps<AttentionOp>())
      if (failed(AttentionInliner(attention, symbols).run()))
        return signalPassFailure();
    for (auto map : llvm::make_early_inc_range(getOperation().getOps<FeatureMapOp>()))
      if (SymbolTable::symbolKnownUseEmpty(map, getOperation()))
        symbols.erase(map);
  }
};

} // namespace
