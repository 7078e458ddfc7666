//===- Conditioning.cpp - how well rows are determined --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conditioning.h"
#include <random>
#include <set>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::driver;

namespace {

/// A few samples find most of a row's spread.
constexpr int kSamples = 4;
/// How many times its spread a row may be off: a kernel rounds in more steps than the definition
/// has. Kernels with 16-bit products round few more numbers than the oracle changes, and rows were
/// off by 0.7 of their spread at most.
constexpr double kTimesSpread = 4, kTimesNarrowSpread = 2;
/// Rows that are better determined are held to the tolerance: it has room for a few roundings.
constexpr double kLeastCondition = 2;

} // namespace

double driver::unitRoundoff(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 0x1p-24;
  case ElementType::BF16:
    return 0x1p-8;
  case ElementType::F16:
    return 0x1p-11;
  case ElementType::I32:
  case ElementType::I64:
    break; // positions, which nothing computes
  }
  return 0;
}

double DoubtfulRow::condition(ElementType arithmetic) const {
  return size > 0 ? spread / size / unitRoundoff(arithmetic) : 0;
}

bool DoubtfulRow::isExplained(const Oracle &oracle) const {
  // Samples disturb the terms of a sum; its partial sums, which code rounds, grow with their root.
  // Sums of 16-bit products are f32, whose roundings do not count beside those of the products.
  double allowed =
      oracle.arithmetic == ElementType::F32
          ? kTimesSpread * std::max(1.0, std::sqrt(double(oracle.inputs.sizes.keys)) / 4)
          : kTimesNarrowSpread;
  return condition(oracle.arithmetic) >= kLeastCondition && difference <= allowed * spread;
}

/// The part of an evaluation that has the rows, among those that were evaluated.
static Selection selectionOf(const Oracle &oracle, const Expectation &expectation,
                             ArrayRef<DoubtfulRow> rows) {
  if (!canSelect(oracle.attention))
    return expectation.selection;
  int64_t queries = oracle.inputs.sizes.queries, heads = oracle.inputs.sizes.heads;
  std::set<std::pair<int64_t, int64_t>> chosenHeads;
  std::set<int64_t> chosenRows;
  for (const DoubtfulRow &row : rows) {
    const Array &result = expectation.results[row.result];
    // States are summed from all keys of heads that share them.
    if (result.rank() != 4 || result.shape[1] != queries || result.shape[2] != heads)
      return expectation.selection;
    chosenHeads.insert({row.row / heads / queries, row.row % heads});
    chosenRows.insert(row.row / heads % queries);
  }
  Selection selection;
  selection.heads.assign(chosenHeads.begin(), chosenHeads.end());
  // The recurrent reading gives all rows of a head.
  if (expectation.reading == Reading::Scores)
    selection.rows.assign(chosenRows.begin(), chosenRows.end());
  return selection;
}

static double distance(ArrayRef<double> a, ArrayRef<double> b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip_equal(a, b))
    sum += (x - y) * (x - y);
  return std::sqrt(sum);
}

void driver::estimateSpread(const Oracle &oracle, const Expectation &expectation,
                            MutableArrayRef<DoubtfulRow> rows) {
  if (rows.empty())
    return;
  std::vector<Array> arguments;
  for (const HostTensor &tensor : oracle.inputs.arguments)
    arguments.push_back(toArray(tensor));
  Selection selection = selectionOf(oracle, expectation, rows);
  double unit = unitRoundoff(oracle.arithmetic);
  for (int sample = 0; sample < kSamples; ++sample) {
    std::mt19937_64 random(sample);
    auto disturb = [&](double x) {
      return x * (1 + unit * (double(random() >> 11) * 0x1p-52 - 1)); // by at most a unit
    };
    auto moved = evaluate(oracle.attention, arguments, oracle.inputs.sizes, expectation.reading,
                          selection, disturb);
    // What the oracle has evaluated once it evaluates again; without, rows are well determined.
    if (failed(moved))
      return;
    for (DoubtfulRow &row : rows) {
      const Array &exact = expectation.results[row.result];
      int64_t width = exact.shape.back();
      double far = distance(ArrayRef(exact.data).slice(row.row * width, width),
                            ArrayRef((*moved)[row.result].data).slice(row.row * width, width));
      if (std::isfinite(far))
        row.spread = std::max(row.spread, far);
    }
  }
}
