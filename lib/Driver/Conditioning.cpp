//===- Conditioning.cpp - how well rows are determined --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conditioning.h"
#include "Gradients.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Transforms/RowFactors.h"
#include <set>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::driver;

namespace {

/// A few samples find most of a row's spread.
constexpr int kSamples = 4;
/// The gradients of a short call may all hang on one number, the rest of what cancels.
constexpr int kGradientSamples = 12;
/// How many times its spread a row may be off: a kernel rounds in more steps than the definition
/// has. Kernels with 16-bit products round few more numbers than the oracle changes, and rows were
/// off by 0.7 of their spread at most.
constexpr double kTimesSpread = 4, kTimesNarrowSpread = 2;
/// Rows that are better determined are held to the tolerance: it has room for a few roundings.
constexpr double kLeastCondition = 2;

} // namespace

Arithmetic Arithmetic::of(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return {0x1p-24, 0x1.fffffep127, 0x1p-126};
  case ElementType::BF16:
    return {0x1p-8, 0x1.fep127, 0x1p-126};
  case ElementType::F16:
    return {0x1p-11, 65504, 0x1p-14};
  case ElementType::I32:
  case ElementType::I64:
    break; // positions, which nothing computes
  }
  return {};
}

Arithmetic Arithmetic::ofSplitTF32() {
  Arithmetic arithmetic = of(ElementType::F32);
  // Numbers of tf32 are multiples of 2^-136, as are both parts of a number.
  arithmetic.least = 0x1p-136 / (2 * arithmetic.unit);
  return arithmetic;
}

Arithmetic Arithmetic::ofSplitBF16() {
  Arithmetic arithmetic = of(ElementType::F32);
  arithmetic.unit = splitProduct(ElementType::BF16);
  return arithmetic;
}

double Disturbance::operator()(double x) {
  if ((way == Way::Upwards || way == Way::Downwards) && std::isfinite(x))
    return x + (way == Way::Upwards ? 1 : -1) * arithmetic.unit * std::fabs(x);
  if (way == Way::ToNearest && x != 0 && std::isfinite(x)) {
    // The distance of two numbers between powers of two, or of subnormals.
    double size = std::max(std::exp2(std::floor(std::log2(std::fabs(x)))), arithmetic.least);
    double distance = 2 * arithmetic.unit * size, nearest = distance * std::nearbyint(x / distance);
    return std::fabs(nearest) > arithmetic.largest ? std::copysign(HUGE_VAL, x) : nearest;
  }
  double random = double(engine() >> 11) * 0x1p-52 - 1; // in [-1, 1)
  if (x == 0 || !std::isfinite(x))
    return x;
  if (std::fabs(x) > arithmetic.largest)
    return std::copysign(HUGE_VAL, x);
  if (std::fabs(x) < arithmetic.least) {
    // Zero, or a multiple of the least number on either side.
    double least = 2 * arithmetic.unit * arithmetic.least;
    bool isFlushed = flushes && std::fabs(x) < arithmetic.leastNormal;
    return isFlushed ? 0 : least * std::floor(x / least + (random + 1) / 2);
  }
  return x * (1 + arithmetic.unit * random);
}

static int64_t widthOf(Value value) { return cast<FeatureType>(value.getType()).getWidth(); }

bool driver::hasRecurrentReadingWithin(AttentionOp attention, const CallSizes &sizes,
                                       EvaluationBudget budget) {
  return llvm::all_of(attendsOf(attention), [&](AttendOp attend) {
    double width = double(widthOf(attend.getKey()));
    double work = double(sizes.batch * sizes.heads * (sizes.queries + sizes.keys)) * width *
                  double(widthOf(attend.getValue()) + 4);
    return width < 1e5 && work < double(budget) && mayHaveState(attend);
  });
}

void driver::sampleReading(AttentionOp attention, ArrayRef<Array> arguments, const CallSizes &sizes,
                           Reading reading, const Selection &selection,
                           const ArithmeticOfAttention &arithmetic, int count,
                           llvm::function_ref<void(ArrayRef<Array>)> show) {
  for (int sample = 0; sample < count; ++sample) {
    Disturbance vectors(arithmetic.vectors, sample), sums(arithmetic.sums, sample + 100);
    auto results = evaluate(attention, arguments, sizes, reading, selection, std::ref(vectors),
                            std::ref(sums));
    if (failed(results))
      return;
    show(*results);
  }
}

double driver::denominatorMove(const Array &result, int64_t row, const Array &factors,
                               const Array &movedFactors) {
  if (ArrayRef(result.shape).drop_back() != ArrayRef(factors.shape).drop_back())
    return 0;
  int64_t first = row * factors.shape.back();
  double factor = factors.data[first];
  double move = factor != 0 ? std::fabs(factor / movedFactors.data[first] - 1) : 0;
  return std::isnan(move) ? HUGE_VAL : move;
}

double driver::distance(ArrayRef<double> a, ArrayRef<double> b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip_equal(a, b))
    sum += (x - y) * (x - y);
  return std::isnan(sum) ? HUGE_VAL : std::sqrt(sum);
}

double DoubtfulRow::condition(ElementType arithmetic) const {
  return size > 0 ? spread / size / Arithmetic::of(arithmetic).unit : 0;
}

int64_t driver::longestSum(AttentionOp attention, int64_t keys) {
  int64_t terms = keys;
  for (AttendOp attend : attendsOf(attention))
    terms = std::max({terms, widthOf(attend.getKey()), widthOf(attend.getValue())});
  return terms;
}

bool DoubtfulRow::isExplained(const Oracle &oracle) const {
  // Samples disturb the terms of a sum; its partial sums, which code rounds, grow with their root.
  // Sums of 16-bit products are f32, whose roundings do not count beside those of the products.
  int64_t terms = longestSum(oracle.attention, oracle.inputs.sizes.keys);
  double allowed = oracle.arithmetic == ElementType::F32
                       ? kTimesSpread * std::max(1.0, std::sqrt(double(terms)) / 4)
                       : kTimesNarrowSpread;
  if (allowed * denominatorMove >= 1) // the denominator may be zero
    return std::isfinite(difference);
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

/// Whether features are numbers that scores read, too. Otherwise a state may lose digits that
/// scores keep, and the schedule answers for that.
static bool hasPlainFeatures(AttentionOp attention) {
  return llvm::none_of(attendsOf(attention), [](AttendOp attend) {
    return cast<FeatureType>(attend.getKey().getType()).getStructure().hasScoreForm();
  });
}

/// Takes the gradients a few times, with all numbers changed.
static void sampleGradients(const Oracle &oracle, function_ref<void(ArrayRef<Array>)> show) {
  // What cancels in a gradient is kept in f32, whatever tensors hold and targets compute in.
  double ofVectors = Arithmetic::of(oracle.arithmetic).unit;
  double ofSums = oracle.usesTensorCores ? Arithmetic::splitProduct(oracle.arithmetic)
                                         : Arithmetic::of(ElementType::F32).unit;
  for (int sample = 0; sample < kGradientSamples; ++sample) {
    Disturbance vectors({ofVectors, HUGE_VAL, 0}, sample),
        sums({ofSums, HUGE_VAL, 0}, sample + 100);
    auto gradients = askGradients(oracle.attention, *oracle.backward, oracle.inputs.arguments,
                                  oracle.inputs.sizes, {std::ref(vectors), std::ref(sums)});
    if (gradients)
      show(*gradients);
    else
      llvm::consumeError(gradients.takeError());
  }
}

namespace {

/// Samples of a call's results, with the denominators of its rows.
class SpreadSamples {
public:
  SpreadSamples(const Oracle &oracle, const Expectation &expectation,
                MutableArrayRef<DoubtfulRow> rows)
      : oracle(oracle), expectation(expectation), rows(rows),
        selection(selectionOf(oracle, expectation, rows)) {}

  void take();
  void noteSpread(ArrayRef<Array> moved);

private:
  void noteDenominators(ArrayRef<Array> factors, ArrayRef<Array> movedFactors);
  /// The factors among all results of an evaluation.
  ArrayRef<Array> factorsOf(ArrayRef<Array> results) const {
    return results.drop_front(expectation.results.size());
  }

  const Oracle &oracle;
  const Expectation &expectation;
  MutableArrayRef<DoubtfulRow> rows;
  Selection selection;
};

void SpreadSamples::noteSpread(ArrayRef<Array> moved) {
  for (DoubtfulRow &row : rows) {
    const Array &exact = expectation.results[row.result];
    int64_t width = exact.shape.back();
    double far = distance(ArrayRef(exact.data).slice(row.row * width, width),
                          ArrayRef(moved[row.result].data).slice(row.row * width, width));
    if (std::isfinite(far))
      row.spread = std::max(row.spread, far);
  }
}

void SpreadSamples::noteDenominators(ArrayRef<Array> factors, ArrayRef<Array> movedFactors) {
  for (DoubtfulRow &row : rows)
    for (auto [exact, moved] : llvm::zip_equal(factors, movedFactors))
      row.denominatorMove =
          std::max(row.denominatorMove,
                   driver::denominatorMove(expectation.results[row.result], row.row, exact, moved));
}

void SpreadSamples::take() {
  std::vector<Array> arguments;
  arguments.reserve(oracle.inputs.arguments.size());
  for (const HostTensor &tensor : oracle.inputs.arguments)
    arguments.push_back(toArray(tensor));
  OwningOpRef<ModuleOp> module = cloneAlone(oracle.attention);
  AttentionOp attention = *module->getOps<AttentionOp>().begin();
  returnRowFactors(attention);
  auto exact = evaluate(attention, arguments, oracle.inputs.sizes, expectation.reading, selection);
  if (failed(exact))
    return;
  // What leaves the range of the type is no matter of condition.
  ArithmeticOfAttention arithmetic{{Arithmetic::of(oracle.arithmetic).unit, HUGE_VAL, 0},
                                   Arithmetic::of(ElementType::F32)};
  auto sample = [&](Reading reading, bool ofSpread) {
    sampleReading(attention, arguments, oracle.inputs.sizes, reading, selection, arithmetic,
                  kSamples, [&](ArrayRef<Array> moved) {
                    if (ofSpread)
                      noteSpread(moved);
                    noteDenominators(factorsOf(*exact), factorsOf(moved));
                  });
  };
  sample(expectation.reading, /*ofSpread=*/true);
  // The other reading may take a hundred times as long.
  if (llvm::all_of(rows, [&](const DoubtfulRow &row) { return row.isExplained(oracle); }))
    return;
  // A denominator that is summed over features may cancel where a score does not; features of 16
  // bits are summed whatever the schedule.
  bool hasPlain = hasPlainFeatures(attention);
  if (expectation.reading != Reading::Recurrent &&
      (hasPlain || oracle.arithmetic != ElementType::F32) &&
      hasRecurrentReadingWithin(attention, oracle.inputs.sizes))
    sample(Reading::Recurrent, hasPlain);
}

} // namespace

void driver::estimateSpread(const Oracle &oracle, const Expectation &expectation,
                            MutableArrayRef<DoubtfulRow> rows) {
  if (rows.empty())
    return;
  SpreadSamples samples(oracle, expectation, rows);
  if (oracle.backward)
    sampleGradients(oracle, [&](ArrayRef<Array> moved) { samples.noteSpread(moved); });
  else
    samples.take();
}
