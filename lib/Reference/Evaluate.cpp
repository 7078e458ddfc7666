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
    : tensors(attention, arguments), vectors(tensors), sizes(sizes), reading(reading),
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

FeatureValue<double> Evaluator::at(Value value, const Site &site) {
  auto read = [&](Value tensor, int64_t offset, int64_t count) {
    ArrayRef<double> numbers = ArrayRef(tensors[tensor].data).slice(offset, count);
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  return rounded(vectors.evaluate<double>(value, site, read, rounding));
}

/// A running state sees the features themselves, each of which is rounded.
FeatureValue<double> Evaluator::rounded(FeatureValue<double> value) const {
  if (!rounding)
    return value;
  if (reading == Reading::Recurrent)
    value = FeatureValue<double>::vector(expand(value));
  for (double &x : value.numbers)
    x = rounding(x);
  for (FeatureValue<double> &part : value.parts)
    part = rounded(std::move(part));
  return value;
}

FailureOr<std::vector<Array>> Evaluator::run() {
  Block &body = tensors.attention.getBody().front();
  for (auto op : body.getOps<AttendOp>())
    if (failed(attend(op)))
      return failure();
  std::vector<Array> results;
  for (Value value : cast<ReturnOp>(body.getTerminator()).getResults()) {
    auto feature = dyn_cast<FeatureType>(value.getType());
    if (!feature) {
      results.push_back(tensors[value]);
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
