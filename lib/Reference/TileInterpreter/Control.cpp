//===- Control.cpp - loops, branches and index arithmetic -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

LogicalResult reference::run(Machine &machine, scf::ForOp op) {
  int64_t lower = machine.index(op.getLowerBound()), upper = machine.index(op.getUpperBound());
  int64_t step = machine.index(op.getStep());
  if (step <= 0)
    return op.emitError("the step must be positive, got ") << step;
  SmallVector<Content> carried;
  for (Value init : op.getInitArgs())
    carried.push_back(machine.content(init));
  for (int64_t i = lower; i < upper; i += step) {
    machine.bind(op.getInductionVar(), i);
    for (auto [argument, content] : llvm::zip(op.getRegionIterArgs(), carried))
      machine.bind(argument, content);
    carried.clear();
    if (failed(machine.runBlock(*op.getBody(), &carried)))
      return failure();
  }
  for (auto [result, content] : llvm::zip(op.getResults(), carried))
    machine.bind(result, content);
  return success();
}

LogicalResult reference::run(Machine &machine, scf::IfOp op) {
  Region &taken = machine.index(op.getCondition()) ? op.getThenRegion() : op.getElseRegion();
  SmallVector<Content> results;
  if (!taken.empty() && failed(machine.runBlock(taken.front(), &results)))
    return failure();
  for (auto [result, content] : llvm::zip(op.getResults(), results))
    machine.bind(result, content);
  return success();
}

LogicalResult reference::run(Machine &machine, tile::ProgramIdOp op) {
  machine.bind(op.getNumber(), machine.coordinate(op.getAxis()));
  return success();
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  uint64_t ua = a, ub = b;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  return false;
}

/// The result of an op on two indices or truth values; none where it is another op, or the
/// divisor is zero.
static std::optional<int64_t> combine(Operation *op, int64_t a, int64_t b) {
  using Result = std::optional<int64_t>;
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::RemSIOp, arith::CeilDivUIOp,
          arith::CeilDivSIOp, arith::FloorDivSIOp>(op) &&
      b == 0)
    return std::nullopt;
  uint64_t ua = a, ub = b;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::AddIOp) { return a + b; })
      .Case([&](arith::SubIOp) { return a - b; })
      .Case([&](arith::MulIOp) { return a * b; })
      .Case([&](arith::DivUIOp) { return int64_t(ua / ub); })
      .Case([&](arith::RemUIOp) { return int64_t(ua % ub); })
      .Case([&](arith::DivSIOp) { return a / b; })
      .Case([&](arith::RemSIOp) { return a % b; })
      .Case([&](arith::CeilDivUIOp) { return int64_t(llvm::divideCeil(ua, ub)); })
      .Case([&](arith::CeilDivSIOp) { return llvm::divideCeilSigned(a, b); })
      .Case([&](arith::FloorDivSIOp) { return llvm::divideFloorSigned(a, b); })
      .Case([&](arith::MinSIOp) { return std::min(a, b); })
      .Case([&](arith::MaxSIOp) { return std::max(a, b); })
      .Case([&](arith::MinUIOp) { return int64_t(std::min(ua, ub)); })
      .Case([&](arith::MaxUIOp) { return int64_t(std::max(ua, ub)); })
      .Case([&](arith::AndIOp) { return a & b; })
      .Case([&](arith::OrIOp) { return a | b; })
      .Case([&](arith::XOrIOp) { return a ^ b; })
      .Case([&](arith::CmpIOp op) { return int64_t(compare(op.getPredicate(), a, b)); })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

bool reference::runIndex(Machine &machine, Operation *op) {
  auto isWhole = [](Type type) { return isa<IndexType, IntegerType>(type); };
  if (auto select = dyn_cast<arith::SelectOp>(op)) { // of anything, tiles too
    bool condition = machine.index(select.getCondition());
    machine.bind(op->getResult(0),
                 machine.content(condition ? select.getTrueValue() : select.getFalseValue()));
    return true;
  }
  if (op->getNumResults() != 1 || !isWhole(op->getResult(0).getType()) ||
      !llvm::all_of(op->getOperandTypes(), isWhole))
    return false;
  std::optional<int64_t> result;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    const APInt &value = cast<IntegerAttr>(constant.getValue()).getValue();
    result = value.getBitWidth() == 1 ? int64_t(value.getZExtValue()) : value.getSExtValue();
  } else if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp>(op)) {
    result = machine.index(op->getOperand(0));
  } else if (op->getNumOperands() == 2) {
    result = combine(op, machine.index(op->getOperand(0)), machine.index(op->getOperand(1)));
  }
  if (!result)
    return false;
  machine.bind(op->getResult(0), *result);
  return true;
}
