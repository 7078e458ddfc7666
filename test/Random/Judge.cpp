//===- Judge.cpp - how far a result may be from the oracle's --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge.h"
#include "mlir/Pass/PassManager.h"
#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Transforms/Passes.h"
#include "polyattn/Transforms/RowFactors.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::random;

/// A few samples find most of a row's spread; a kernel has more steps than the definition.
static constexpr int kSamples = 3;
static constexpr double kTimesSpread = 24;
/// Of this the part for samples that round as much as a kernel with 16-bit products does.
static constexpr double kPartOfStates = 1.0 / 4;
/// Units that a row may be off in any case: functions are approximated to a few.
static constexpr double kTimesUnit = 24;
/// Sums of 16-bit products are f32, whose roundings do not count beside those of the products; all
/// else is rounded in more steps.
static constexpr double kTimesWide = 2;

namespace {

int64_t widthOf(const Array &array) { return array.shape.empty() ? 1 : array.shape.back(); }

double norm(ArrayRef<double> a) {
  double sum = 0;
  for (double x : a)
    sum += x * x;
  return std::sqrt(sum);
}

} // namespace

Judge Judge::of(const Arithmetic &arithmetic, std::vector<Array> reference, int64_t terms) {
  Judge judge;
  judge.arithmetic = arithmetic;
  // Samples disturb the terms of a sum; its partial sums, which code rounds, grow with their root.
  double times = arithmetic.unit <= Arithmetic::of(ElementType::F32).unit ? kTimesWide : 1;
  judge.timesSpread = times * kTimesSpread * std::max(1.0, std::sqrt(double(terms)) / 4);
  judge.leastError = times * kTimesUnit * arithmetic.unit;
  judge.reference = std::move(reference);
  for (const Array &array : judge.reference)
    judge.spread.emplace_back(widthOf(array) ? array.data.size() / widthOf(array) : 0, 0.0);
  return judge;
}

void Judge::forRows(ArrayRef<Array> sample,
                    llvm::function_ref<void(double far, double &spread)> look) {
  for (auto [exact, disturbed, rows] : llvm::zip(reference, sample, spread))
    for (size_t row = 0; row < rows.size(); ++row) {
      size_t width = widthOf(exact), first = row * width;
      look(driver::distance(ArrayRef(exact.data).slice(first, width),
                            ArrayRef(disturbed.data).slice(first, width)),
           rows[row]);
    }
}

void Judge::addSample(ArrayRef<Array> sample, double part) {
  forRows(sample, [&](double far, double &spread) { spread = std::max(spread, part * far); });
}

void Judge::noteDenominators(ArrayRef<Array> movedFactors, double part) {
  for (auto [exact, moved] : llvm::zip_equal(factors, movedFactors))
    for (auto [array, rows] : llvm::zip_equal(reference, spread))
      for (size_t row = 0; row < rows.size(); ++row)
        if (timesSpread * part * driver::denominatorMove(array, row, exact, moved) >= 1)
          rows[row] = HUGE_VAL;
}

void Judge::addDirectedSample(ArrayRef<Array> sample) {
  forRows(sample,
          [&](double far, double &spread) { spread = std::max(spread, far / timesSpread); });
}

void Judge::allowAlso(const Judge &other) {
  for (auto [rows, others] : llvm::zip_equal(spread, other.spread))
    for (auto [row, more] : llvm::zip_equal(rows, others))
      row += more;
}

void Judge::sampleOnce(Evaluation evaluation, Reading reading, Disturbance vectors,
                       Disturbance sums, double part) {
  auto results = evaluation(reading, std::ref(vectors), std::ref(sums));
  if (failed(results))
    return;
  addSample(*results, part);
  noteDenominators(ArrayRef(*results).drop_front(reference.size()), part);
}

void Judge::sample(Evaluation evaluation, Reading reading, const ArithmeticOfAttention &arithmetic,
                   double part) {
  for (int number = 0; number < kSamples; ++number)
    sampleOnce(evaluation, reading, Disturbance(arithmetic.vectors, number),
               Disturbance(arithmetic.sums, number + 100), part);
}

/// Adds the rows with all numbers rounded to the nearest of the type, as code does. Numbers that
/// differ come to be equal then, and those that are nearly zero to be zero, which random changes do
/// not find: x + sin x, again and again, is the number nearest pi, whatever x it began with.
void Judge::sampleNearest(Evaluation evaluation, const ArithmeticOfAttention &arithmetic) {
  auto nearest = [](const Arithmetic &one) {
    return Disturbance(one, /*seed=*/0, Disturbance::Way::ToNearest);
  };
  sampleOnce(evaluation, Reading::Scores, nearest(arithmetic.vectors), nearest(arithmetic.sums));
}

/// Adds the rows with all scores and terms rounded up, and with all rounded down, by twice what
/// `arithmetic` may change; then with all numbers of vectors. The former moves a sum that lies at a
/// threshold of the normalizer, or whose terms cancel, to either side of it. The latter does so
/// within vectors: the mean that a norm subtracts is rounded once more than what it is subtracted
/// from, so that elements which are all alike come to lie on either side of 0, where a few samples
/// at random may find one side alone, which a relu takes for 0.
void Judge::sampleDirected(Evaluation evaluation, Arithmetic arithmetic) {
  arithmetic.unit *= 2;
  for (auto way : {Disturbance::Way::Upwards, Disturbance::Way::Downwards}) {
    Disturbance numbers(arithmetic, /*seed=*/0, way);
    Rounding directed = std::ref(numbers);
    for (bool isOfVectors : {false, true}) {
      auto results = evaluation(Reading::Scores, isOfVectors ? directed : Rounding(),
                                isOfVectors ? Rounding() : directed);
      if (succeeded(results))
        addDirectedSample(*results);
    }
  }
}

llvm::Expected<Judge> Judge::ask(Evaluation definition, Evaluation recurrent, size_t results,
                                 int64_t terms, const ArithmeticOfAttention &arithmetic) {
  auto exact = definition(Reading::Scores, {}, {});
  if (failed(exact))
    return llvm::make_error<ReportedError>();
  std::vector<Array> factors(exact->begin() + results, exact->end());
  exact->resize(results);
  Judge judge = of(arithmetic.vectors, std::move(*exact), terms);
  judge.factors = std::move(factors);
  judge.sample(definition, Reading::Scores, arithmetic);
  if (recurrent)
    judge.sample(recurrent, Reading::Recurrent, arithmetic);
  // Products of 16 bits round each feature of a state that is a product of others, and each number
  // of the state, once for what is divided and once for what it is divided by.
  if (recurrent && arithmetic.vectors.unit > arithmetic.sums.unit)
    judge.sample(recurrent, Reading::Recurrent, {arithmetic.vectors, arithmetic.vectors},
                 kPartOfStates);
  judge.sampleNearest(definition, arithmetic);
  judge.sampleDirected(definition, arithmetic.vectors);
  return judge;
}

static AttentionOp firstOf(ModuleOp module) { return *module.getOps<AttentionOp>().begin(); }

/// Fewer features with the same scores, whose sums a state has, too. Null where that fails.
static OwningOpRef<ModuleOp> simplify(ModuleOp definition) {
  OwningOpRef<ModuleOp> module = definition.clone();
  PassManager passes(module->getContext());
  passes.addPass(createInlineMaps());
  passes.addPass(createSimplifyFeatures());
  return succeeded(passes.run(*module)) ? std::move(module) : nullptr;
}

static std::vector<Array> toArrays(ArrayRef<HostTensor> tensors) {
  std::vector<Array> arrays;
  for (const HostTensor &tensor : tensors)
    arrays.push_back(toArray(tensor));
  return arrays;
}

llvm::Expected<Judge> Judge::ask(AttentionOp attention, ArrayRef<HostTensor> tensors,
                                 const CallSizes &sizes, const ArithmeticOfAttention &arithmetic,
                                 driver::EvaluationBudget budget) {
  std::vector<Array> arguments = toArrays(tensors);
  OwningOpRef<ModuleOp> module = cloneAlone(attention);
  AttentionOp program = firstOf(*module);
  returnRowFactors(program);
  auto evaluationOf = [&](AttentionOp evaluated) {
    return [&, evaluated](Reading reading, const Rounding &vectors, const Rounding &terms) {
      return evaluate(evaluated, arguments, sizes, reading, {}, vectors, terms);
    };
  };
  auto definition = evaluationOf(program);
  size_t results = attention.getResultNames().size();
  // What is read of a state is a sum over its features.
  auto askWith = [&](AttentionOp recurrent) {
    return ask(definition, evaluationOf(recurrent), results,
               driver::longestSum(recurrent, sizes.keys), arithmetic);
  };
  if (driver::hasRecurrentReadingWithin(program, sizes, budget))
    return askWith(program);
  OwningOpRef<ModuleOp> simplified = simplify(*module);
  if (simplified && driver::hasRecurrentReadingWithin(firstOf(*simplified), sizes, budget))
    return askWith(firstOf(*simplified));
  return ask(definition, nullptr, results, sizes.keys, arithmetic);
}

llvm::Expected<Judge> Judge::ask(const GradientPair &gradients, ArrayRef<HostTensor> tensors,
                                 const CallSizes &sizes, const ArithmeticOfAttention &arithmetic,
                                 driver::EvaluationBudget budget) {
  std::vector<Array> arguments = toArrays(tensors);
  auto evaluated = [&](Reading reading, const Rounding &vectors, const Rounding &terms) {
    return gradients.evaluate(arguments, sizes, reading, vectors, terms);
  };
  Evaluation recurrent = nullptr;
  if (gradients.hasRecurrentReadingWithin(sizes, budget))
    recurrent = evaluated;
  size_t results = gradients.getSignature().results.size();
  return ask(evaluated, recurrent, results, std::max(sizes.queries, sizes.keys), arithmetic);
}

/// What rounding a row to the result's type may add.
static double storageError(ElementType type, double size, int64_t width) {
  Arithmetic stored = Arithmetic::of(type);
  double subnormals = stored.least * stored.unit * std::sqrt(double(width));
  return type == ElementType::F32 ? 0 : stored.unit * size + 2 * subnormals;
}

void Judge::judge(size_t number, StringRef name, ElementType type, const Array &result,
                  Verdict &verdict) const {
  for (size_t row = 0; row < spread[number].size(); ++row)
    judgeRow(number, row, name, type, result, verdict);
}

void Judge::judgeRow(size_t number, size_t row, StringRef name, ElementType type,
                     const Array &result, Verdict &verdict) const {
  int64_t width = widthOf(reference[number]);
  auto expected = ArrayRef(reference[number].data).slice(row * width, width);
  auto got = ArrayRef(result.data).slice(row * width, width);
  double size = norm(expected), difference = driver::distance(expected, got);
  double allowed = timesSpread * spread[number][row] + leastError * size +
                   storageError(type, size, width) + 1e-36;
  // Terms of both signs may have sums beyond the range on the way to a result near its end.
  constexpr double sumsBeyondResult = 4;
  bool outOfRange = !std::isfinite(allowed) || llvm::any_of(expected, [&](double x) {
    return !std::isfinite(roundTo(type, sumsBeyondResult * x));
  });
  if (outOfRange || allowed > 0.5 * size + 1e-30) {
    ++verdict.undetermined;
    // However badly it is determined, it is a number; unless it moves by as much as there is of it,
    // as a quotient does whose divisor may be zero.
    bool mayBeDividedByZero = spread[number][row] > 0.5 * size;
    if (outOfRange || mayBeDividedByZero || std::isfinite(difference))
      return;
  }
  ++verdict.compared;
  verdict.worst = std::max(verdict.worst, difference / allowed);
  if (difference <= allowed || !verdict.failure.empty())
    return;
  size_t worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - expected[i]) <= std::fabs(got[worst] - expected[worst])))
      worst = i;
  llvm::raw_string_ostream stream(verdict.failure);
  stream << "result '" << name << "' " << formatSizes(result.shape) << ", row " << row
         << ": off by " << llvm::format("%.3g", difference) << " of " << llvm::format("%.3g", size)
         << " where " << llvm::format("%.3g", allowed) << " is allowed; element " << worst << " is "
         << llvm::format("%.9g", got[worst]) << " instead of "
         << llvm::format("%.9g", expected[worst]);
}
