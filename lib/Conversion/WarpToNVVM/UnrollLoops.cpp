//===- UnrollLoops.cpp - several iterations of a loop at once ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

using namespace mlir;
using namespace polyattn;

/// Derives the opaque numbers of an unrolled loop's iterations from that of the first one by adding
/// constants, so that addresses are one register and constants.
static void shareOpaqueNumber(scf::ForOp loop) {
  warp::OpaqueOp first;
  for (auto number : llvm::make_early_inc_range(loop.getBody()->getOps<warp::OpaqueOp>())) {
    Value iteration = number.getOperand();
    if (iteration == loop.getInductionVar() && !first)
      first = number;
    auto sum = iteration.getDefiningOp<arith::AddIOp>();
    if (!first || !sum || sum.getLhs() != loop.getInductionVar())
      continue;
    OpBuilder builder(number);
    Value moved = arith::AddIOp::create(builder, number.getLoc(), first, sum.getRhs());
    number.replaceAllUsesWith(moved);
    number.erase();
  }
}

/// Replaces an opaque number by the induction variable where no loop is left around which LLVM
/// could move its uses.
static void revealNumber(scf::ForOp loop) {
  for (auto number : llvm::make_early_inc_range(loop.getBody()->getOps<warp::OpaqueOp>()))
    if (number.getOperand() == loop.getInductionVar()) {
      number.replaceAllUsesWith(loop.getInductionVar());
      number.erase();
    }
}

LogicalResult polyattn::unrollLoops(Operation *kernels) {
  SmallVector<scf::ForOp> loops;
  kernels->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops) {
    auto count = loop->getAttrOfType<IntegerAttr>(warp::kUnrollAttrName);
    loop->removeAttr(warp::kUnrollAttrName);
    if (!count)
      continue;
    std::optional<APInt> iterations = loop.getStaticTripCount(); // as wide as its numbers
    if (iterations && *iterations == uint64_t(count.getInt()))
      revealNumber(loop);
    FailureOr<UnrolledLoopInfo> unrolled = loopUnrollByFactor(loop, count.getInt());
    if (failed(unrolled))
      return loop.emitOpError("cannot be unrolled by ") << count.getInt();
    if (unrolled->mainLoopOp)
      shareOpaqueNumber(*unrolled->mainLoopOp);
  }
  return success();
}
