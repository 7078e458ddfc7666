//===- Divisibility.cpp - what divides an index ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Divisibility.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;

int64_t polyattn::knownDivisor(Value index, function_ref<Value(Operation *)> passedOn) {
  auto divisorOf = [&](Value value) { return knownDivisor(value, passedOn); };
  constexpr int64_t any = 1 << 20;
  if (!index)
    return any;
  if (auto constant = getConstantIntValue(index))
    return *constant ? std::gcd(*constant, any) : any;
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return 1;
    return std::gcd(divisorOf(loop.getLowerBound()), divisorOf(loop.getStep()));
  }
  Operation *op = index.getDefiningOp();
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return divisorOf(op->getOperand(0));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::gcd(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
  if (isa<arith::MulIOp>(op))
    return std::gcd(divisorOf(op->getOperand(0)) * divisorOf(op->getOperand(1)), any);
  if (Value value = passedOn ? passedOn(op) : Value())
    return divisorOf(value);
  return 1;
}
