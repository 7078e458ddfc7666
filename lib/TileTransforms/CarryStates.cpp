//===- CarryStates.cpp - states in registers ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over blocks of positions reads a state and adds to it in each iteration. Where an
// iteration does that with the whole of it, the state becomes a tile that the loop carries, in
// accumulators; what products of an iteration read is a copy of it, rounded as their factors are.
//
//===----------------------------------------------------------------------===//

#include "CreateMap.h"
#include "lib/TileAnalysis/Liveness.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_CARRYSTATES
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

namespace {
/// What a loop does with one buffer.
struct CarriedState {
  BufferOp buffer;
  SmallVector<ReadOp> reads; // before the update
  AccumulateOp update;
};
} // namespace

static bool isWhole(Value row, TileType tile, BufferType buffer) {
  return isConstantIntValue(row, 0) && tile.getRows() == buffer.getRows();
}

/// The state that the loop can carry for the buffer; empty where the loop uses the buffer in any
/// other way.
static std::optional<CarriedState> carriedBy(scf::ForOp loop, BufferOp buffer) {
  CarriedState state;
  state.buffer = buffer;
  BufferType type = buffer.getResult().getType();
  for (Operation *user : buffer->getUsers()) {
    if (!loop->isProperAncestor(user))
      continue;
    if (user->getBlock() != loop.getBody())
      return std::nullopt;
    if (auto read = dyn_cast<ReadOp>(user)) {
      if (!isWhole(read.getRow(), read.getResult().getType(), type))
        return std::nullopt;
      state.reads.push_back(read);
      continue;
    }
    auto update = dyn_cast<AccumulateOp>(user);
    if (!update || state.update || !isMatrixProduct(update) ||
        !isWhole(update.getRow(), update.getLhs().getType(), type))
      return std::nullopt;
    state.update = update;
  }
  auto isLate = [&](ReadOp read) { return state.update->isBeforeInBlock(read); };
  if (!state.update || llvm::any_of(state.reads, isLate))
    return std::nullopt;
  return state;
}

/// The sum begins where all that it needs is there, so that what else needs its left factor can
/// come with it.
static void setEarliestPoint(OpBuilder &builder, AccumulateOp update, Block *body) {
  Operation *last = nullptr;
  for (Value operand : update->getOperands()) {
    Operation *op = operand.getDefiningOp();
    if (op && op->getBlock() == body && (!last || last->isBeforeInBlock(op)))
      last = op;
  }
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(body);
}

/// The reads of a whole buffer behind a loop, where nothing else uses it there: they read what the
/// loop gives. None where the buffer has to have it, too.
static SmallVector<ReadOp> readsBehind(scf::ForOp loop, BufferOp buffer) {
  SmallVector<ReadOp> reads;
  // What is around the loop may come back to the buffer.
  if (buffer->getBlock() != loop->getBlock())
    return {};
  for (Operation *user : buffer->getUsers()) {
    Operation *inBlock = loop->getBlock()->findAncestorOpInBlock(*user);
    if (inBlock == loop || inBlock->isBeforeInBlock(loop))
      continue;
    auto read = dyn_cast<ReadOp>(user);
    if (!read || !isWhole(read.getRow(), read.getResult().getType(), buffer.getResult().getType()))
      return {};
    reads.push_back(read);
  }
  return reads;
}

static scf::ForOp carry(IRRewriter &rewriter, scf::ForOp loop, CarriedState &state) {
  Location loc = state.buffer.getLoc();
  BufferType buffer = state.buffer.getResult().getType();
  AccumulateOp update = state.update;
  auto type = TileType::f32(loop.getContext(), buffer.getRows(), buffer.getColumns());
  rewriter.setInsertionPoint(loop);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value initial = ReadOp::create(rewriter, loc, type, state.buffer, zero);
  auto yields = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> added) {
    Value state = added[0];
    OpBuilder::InsertionGuard guard(builder);
    setEarliestPoint(builder, update, update->getBlock());
    if (update.getFactor())
      state = createMap(builder, update.getLoc(), state, update.getFactor());
    auto sum = DotOp::create(builder, update.getLoc(), type, update.getLhs(), update.getRhs(),
                             state, update.getBound(), /*lhs_transposed=*/false, /*lower=*/false,
                             /*lower_lhs=*/false, /*upper=*/false,
                             /*upper_lhs=*/false, update.getPrecisionAttr());
    return SmallVector<Value>{sum.getResult()};
  };
  auto carried = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, initial, /*replaceInitOperandUsesInLoop=*/false, yields));
  if (!state.reads.empty()) {
    rewriter.setInsertionPointToStart(carried.getBody());
    Value copy = createMap(rewriter, loc, carried.getRegionIterArgs().back());
    for (ReadOp read : state.reads)
      rewriter.replaceOp(read, copy);
  }
  rewriter.eraseOp(update);
  for (ReadOp read : readsBehind(carried, state.buffer))
    rewriter.replaceOp(read, carried.getResults().back());
  if (isUsedAfter(carried, state.buffer.getResult())) {
    rewriter.setInsertionPointAfter(carried);
    WriteOp::create(rewriter, loc, carried.getResults().back(), state.buffer, zero);
  }
  return carried;
}

namespace {
struct CarryStatesPass : polyattn::impl::CarryStatesBase<CarryStatesPass> {
  using CarryStatesBase::CarryStatesBase;

  void runOnOperation() final {
    getOperation()->walk([&](KernelOp kernel) {
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      SmallVector<BufferOp> buffers;
      kernel.walk([&](BufferOp buffer) { buffers.push_back(buffer); });
      int64_t left = elements;
      for (scf::ForOp loop : loops)
        for (BufferOp buffer : buffers) {
          BufferType type = buffer.getResult().getType();
          int64_t size = type.getRows() * type.getColumns();
          if (type.getColumns() == 1 || size > left || buffer.getPersistent())
            continue;
          std::optional<CarriedState> state = carriedBy(loop, buffer);
          if (!state)
            continue;
          IRRewriter rewriter(loop);
          loop = carry(rewriter, loop, *state);
          left -= size;
        }
    });
  }
};
} // namespace
