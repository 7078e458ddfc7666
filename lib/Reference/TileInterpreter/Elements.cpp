//===- Elements.cpp - arithmetic on numbers -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A map's region is run once for a whole tile: each of its values is an array that holds
// the number of every element. Truth values are 0 and 1.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

using Numbers = std::vector<double>;

/// Minimum and maximum that NaN goes through, unlike fmin and fmax.
static double maximum(double a, double b) { return std::isnan(a) || a > b ? a : b; }
static double minimum(double a, double b) { return std::isnan(a) || a < b ? a : b; }

static double unary(Operation *op, double x) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](arith::NegFOp) { return -x; })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(
          [&](auto) { return x; })
      .Case([&](math::AbsFOp) { return std::fabs(x); })
      .Case([&](math::ExpOp) { return std::exp(x); })
      .Case([&](math::Exp2Op) { return std::exp2(x); })
      .Case([&](math::ExpM1Op) { return std::expm1(x); })
      .Case([&](math::LogOp) { return std::log(x); })
      .Case([&](math::Log2Op) { return std::log2(x); })
      .Case([&](math::Log1pOp) { return std::log1p(x); })
      .Case([&](math::SinOp) { return std::sin(x); })
      .Case([&](math::CosOp) { return std::cos(x); })
      .Case([&](math::TanhOp) { return std::tanh(x); })
      .Case([&](math::ErfOp) { return std::erf(x); })
      .Case([&](math::ErfcOp) { return std::erfc(x); })
      .Case([&](math::SqrtOp) { return std::sqrt(x); })
      .Case([&](math::RsqrtOp) { return 1 / std::sqrt(x); })
      .Case([&](math::FloorOp) { return std::floor(x); })
      .Case([&](math::CeilOp) { return std::ceil(x); })
      .Case([&](math::RoundOp) { return std::round(x); })
      .Case([&](math::RoundEvenOp) { return std::nearbyint(x); })
      .Case([&](math::TruncOp) { return std::trunc(x); })
      .Default([](Operation *) -> double { llvm_unreachable("not in isUnary"); });
}

static bool isUnary(Operation *op) {
  return isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
             math::AbsFOp, math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp, math::Log2Op,
             math::Log1pOp, math::SinOp, math::CosOp, math::TanhOp, math::ErfOp, math::ErfcOp,
             math::SqrtOp, math::RsqrtOp, math::FloorOp, math::CeilOp, math::RoundOp,
             math::RoundEvenOp, math::TruncOp>(op);
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  }
  return false;
}

/// What the op computes from one number of each operand; none where it is not known here.
static std::function<double(ArrayRef<double>)> ruleOf(Operation *op) {
  using Rule = std::function<double(ArrayRef<double>)>;
  if (isUnary(op))
    return [op](ArrayRef<double> x) { return unary(op, x[0]); };
  return llvm::TypeSwitch<Operation *, Rule>(op)
      .Case([](arith::AddFOp) { return [](ArrayRef<double> x) { return x[0] + x[1]; }; })
      .Case([](arith::SubFOp) { return [](ArrayRef<double> x) { return x[0] - x[1]; }; })
      .Case([](arith::MulFOp) { return [](ArrayRef<double> x) { return x[0] * x[1]; }; })
      .Case([](arith::DivFOp) { return [](ArrayRef<double> x) { return x[0] / x[1]; }; })
      .Case([](arith::RemFOp) { return [](ArrayRef<double> x) { return std::fmod(x[0], x[1]); }; })
      .Case([](math::PowFOp) { return [](ArrayRef<double> x) { return std::pow(x[0], x[1]); }; })
      .Case([](math::CopySignOp) {
        return [](ArrayRef<double> x) { return std::copysign(x[0], x[1]); };
      })
      .Case([](math::FmaOp) { return [](ArrayRef<double> x) { return x[0] * x[1] + x[2]; }; })
      .Case(
          [](arith::MaximumFOp) { return [](ArrayRef<double> x) { return maximum(x[0], x[1]); }; })
      .Case(
          [](arith::MinimumFOp) { return [](ArrayRef<double> x) { return minimum(x[0], x[1]); }; })
      .Case(
          [](arith::MaxNumFOp) { return [](ArrayRef<double> x) { return std::fmax(x[0], x[1]); }; })
      .Case(
          [](arith::MinNumFOp) { return [](ArrayRef<double> x) { return std::fmin(x[0], x[1]); }; })
      .Case([](arith::CmpFOp op) {
        return [predicate = op.getPredicate()](ArrayRef<double> x) {
          return double(compare(predicate, x[0], x[1]));
        };
      })
      .Case([](arith::SelectOp) {
        return [](ArrayRef<double> x) { return x[0] != 0 ? x[1] : x[2]; };
      })
      .Case([](arith::AndIOp) {
        return [](ArrayRef<double> x) { return double(x[0] != 0 && x[1] != 0); };
      })
      .Case([](arith::OrIOp) {
        return [](ArrayRef<double> x) { return double(x[0] != 0 || x[1] != 0); };
      })
      .Case([](arith::XOrIOp) {
        return [](ArrayRef<double> x) { return double((x[0] != 0) != (x[1] != 0)); };
      })
      .Case([](arith::ConstantOp op) -> Rule {
        double value;
        if (auto number = dyn_cast<FloatAttr>(op.getValue()))
          value = number.getValueAsDouble();
        else if (op.getType().isInteger(1))
          value = !cast<IntegerAttr>(op.getValue()).getValue().isZero();
        else
          return nullptr;
        return [value](ArrayRef<double>) { return value; };
      })
      .Default([](Operation *) { return nullptr; });
}

/// The op applied `count` times, each operand giving one number for each.
static FailureOr<Numbers> evaluate(const Machine &machine, Operation *op,
                                   ArrayRef<Numbers> operands, size_t count) {
  std::function<double(ArrayRef<double>)> rule =
      op->getNumResults() == 1 ? ruleOf(op) : std::function<double(ArrayRef<double>)>();
  if (!rule)
    return op->emitError("the tile interpreter does not know this op");
  Type type = op->getResult(0).getType();
  Numbers result(count), arguments(operands.size());
  for (size_t i = 0; i < count; ++i) {
    for (size_t n = 0; n < operands.size(); ++n)
      arguments[n] = operands[n][i];
    double value = rule(arguments);
    result[i] = isa<FloatType>(type) ? machine.rounded(type, value) : value;
  }
  return result;
}

/// A number, index or truth value from outside of a map.
static double scalar(const Machine &machine, Value value) {
  const Content &content = machine.content(value);
  if (const int64_t *whole = std::get_if<int64_t>(&content))
    return double(*whole);
  return std::get<double>(content);
}

LogicalResult reference::run(Machine &machine, tile::MapOp op) {
  Matrix result(op.getResult().getType());
  size_t count = result.numbers.size();
  llvm::DenseMap<Value, Numbers> elements;
  for (auto [input, argument] : llvm::zip(op.getInputs(), op.getBody().front().getArguments())) {
    const Matrix &tile = machine.tile(input);
    Numbers &numbers = elements[argument];
    for (int64_t r = 0; r < result.rows; ++r)
      for (int64_t c = 0; c < result.columns; ++c)
        numbers.push_back(tile.at(tile.rows == 1 ? 0 : r, tile.columns == 1 ? 0 : c));
  }
  auto elementsOf = [&](Value value) {
    auto it = elements.find(value);
    return it != elements.end() ? it->second : Numbers(count, scalar(machine, value));
  };
  for (Operation &inner : op.getBody().front()) {
    if (auto yield = dyn_cast<tile::YieldOp>(inner)) {
      result.numbers = elementsOf(yield.getValue());
      break;
    }
    SmallVector<Numbers> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(elementsOf(operand));
    FailureOr<Numbers> numbers = evaluate(machine, &inner, operands, count);
    if (failed(numbers))
      return failure();
    elements[inner.getResult(0)] = std::move(*numbers);
  }
  return machine.bindTile(op.getResult(), {std::move(result)});
}

LogicalResult reference::runScalar(Machine &machine, Operation *op) {
  auto isScalar = [](Type type) { return isa<FloatType, IndexType, IntegerType>(type); };
  SmallVector<Numbers> operands;
  if (llvm::all_of(op->getOperandTypes(), isScalar))
    for (Value operand : op->getOperands())
      operands.push_back({scalar(machine, operand)});
  if (operands.size() != op->getNumOperands() || op->getNumRegions() != 0)
    return op->emitError("the tile interpreter does not know this op");
  FailureOr<Numbers> numbers = evaluate(machine, op, operands, 1);
  if (failed(numbers))
    return failure();
  Value result = op->getResult(0);
  machine.bind(result, isa<FloatType>(result.getType()) ? Content(numbers->front())
                                                        : Content(int64_t(numbers->front())));
  return success();
}
