//===- Evaluate.cpp - the oracle ------------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/Evaluate.h"
#include "Evaluator.h"
#include "llvm/ADT/DenseSet.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

Evaluator::Evaluator(AttentionOp attention, ArrayRef<Array> arguments, const CallSizes &sizes,
                     Reading reading, const Selection &selection, const Rounding &rounding,
                     const Rounding &terms)
    : attention(attention), arguments(arguments), sizes(sizes), reading(reading),
      rounding(rounding), terms(terms), heads(selection.heads), rows(selection.rows) {
  if (heads.empty())
    for (int64_t b = 0; b < sizes.batch; ++b)
      for (int64_t h = 0; h < sizes.heads; ++h)
        heads.push_back({b, h});
  if (rows.empty() || reading == Reading::Recurrent) {
    rows.resize(sizes.queries);
    std::iota(rows.begin(), rows.end(), 0);
  }
}

/// The ops of the body that a value needs, in order.
ArrayRef<Operation *> Evaluator::sliceOf(Value value) {
  auto [it, inserted] = slices.try_emplace(value);
  if (!inserted)
    return it->second;
  SmallVector<Operation *> ops;
  llvm::DenseSet<Value> needed = {value};
  Operation *last = value.getDefiningOp();
  for (Operation *op = last; op; op = op->getPrevNode()) {
    if (isa<AttendOp>(op) ||
        llvm::none_of(op->getResults(), [&](Value result) { return needed.contains(result); }))
      continue;
    needed.insert(op->operand_begin(), op->operand_end());
    ops.push_back(op);
  }
  std::reverse(ops.begin(), ops.end());
  return slices[value] = std::move(ops);
}

/// Binds the vector of this site, or the weight of its head.
void Evaluator::bindRead(Value tensor, Value result, Type type, const Site &site,
                         Environment &environment) {
  const Array &array = argument(tensor);
  if (auto feature = dyn_cast<FeatureType>(type)) {
    SmallVector<int64_t> index;
    if (array.rank() == 4)
      index = {site.batch, site.position, site.head};
    else
      index = {firstPosition(site.batch) + site.position, array.shape[1] == 1 ? 0 : site.head};
    ArrayRef<double> row = array.row(index, feature.getWidth());
    environment.features[result] = FeatureValue::vector({row.begin(), row.end()});
    return;
  }
  ArrayRef<int64_t> shape = cast<WeightType>(type).getShape();
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  bool perHead = array.rank() > int64_t(shape.size());
  int64_t start = perHead ? site.head * count : 0;
  environment.weights[result].numbers.assign(array.data.begin() + start,
                                             array.data.begin() + start + count);
}

FeatureValue Evaluator::applyMap(ApplyOp apply, const Site &site, Environment &outer) {
  auto map = SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
  Environment inner;
  inner.position = outer.position;
  inner.rounding = rounding;
  for (auto [input, parameter] : llvm::zip(apply.getInputs(), map.getBody().getArguments())) {
    if (isa<RankedTensorType>(input.getType()))
      bindRead(input, parameter, parameter.getType(), site, inner);
    else if (isa<FeatureType>(input.getType()))
      inner.features[parameter] = outer.features[input];
    else
      inner.weights[parameter] = outer.weights[input];
  }
  for (Operation &op : map.getBody().front().without_terminator())
    evaluateFeatureOp(&op, inner);
  return inner.features[map.getFeatures()];
}

FeatureValue Evaluator::at(Value value, const Site &site) {
  Environment environment;
  environment.position = firstPosition(site.batch) + site.position;
  environment.rounding = rounding;
  auto bindComputed = [&](Value operand) {
    auto it = computed.find(operand);
    if (it == computed.end() || !isa<FeatureType>(operand.getType()))
      return;
    ArrayRef<double> row =
        it->second.row({site.batch, site.position, site.head}, it->second.shape.back());
    environment.features[operand] = FeatureValue::vector({row.begin(), row.end()});
  };
  bindComputed(value);
  for (Operation *op : sliceOf(value)) {
    llvm::for_each(op->getOperands(), bindComputed);
    if (auto read = dyn_cast<ReadOp>(op))
      bindRead(read.getTensor(), read.getResult(), read.getType(), site, environment);
    else if (auto apply = dyn_cast<ApplyOp>(op))
      environment.features[apply.getResult()] = applyMap(apply, site, environment);
    else
      evaluateFeatureOp(op, environment);
  }
  return rounded(std::move(environment.features[value]));
}

/// A running state sees the features themselves, each of which is rounded.
FeatureValue Evaluator::rounded(FeatureValue value) const {
  if (!rounding)
    return value;
  if (reading == Reading::Recurrent)
    value = FeatureValue::vector(expand(value));
  for (double &x : value.numbers)
    x = rounding(x);
  for (FeatureValue &part : value.parts)
    part = rounded(std::move(part));
  return value;
}

FailureOr<std::vector<Array>> Evaluator::run() {
  Block &body = attention.getBody().front();
  for (auto op : body.getOps<AttendOp>())
    if (failed(attend(op)))
      return failure();
  std::vector<Array> results;
  for (Value value : cast<ReturnOp>(body.getTerminator()).getResults()) {
    auto feature = dyn_cast<FeatureType>(value.getType());
    if (!feature) {
      results.push_back(computed[value]);
      continue;
    }
    Array &output = results.emplace_back(
        ArrayRef({sizes.batch, sizes.queries, sizes.heads, feature.getWidth()}));
    for (auto [b, h] : heads)
      for (int64_t i : rows)
        llvm::copy(expand(at(value, {b, i, h})), output.data.begin() + output.offset({b, i, h}));
  }
  return results;
}

bool polyattn::canSelect(AttentionOp attention) {
  return llvm::all_of(attention.getBody().getOps<AttendOp>(), [](AttendOp attend) {
    // Whatever an attend's output leads to, it must not be another attend.
    SmallVector<Value> pending = {attend.getOutput()};
    llvm::DenseSet<Operation *> seen;
    while (!pending.empty())
      for (Operation *user : pending.pop_back_val().getUsers()) {
        if (isa<AttendOp>(user))
          return false;
        if (seen.insert(user).second)
          llvm::append_range(pending, user->getResults());
      }
    return true;
  });
}

FailureOr<std::vector<Array>> polyattn::evaluate(AttentionOp attention, ArrayRef<Array> arguments,
                                                 const CallSizes &sizes, Reading reading,
                                                 const Selection &selection,
                                                 const Rounding &rounding, const Rounding &terms) {
  return Evaluator(attention, arguments, sizes, reading, selection, rounding, terms).run();
}
