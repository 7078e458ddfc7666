//===- ToeplitzExpansion.cpp - the algorithm of Fast RoPE Attention -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/ToeplitzExpansion.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <set>

using namespace llvm;
using namespace polyattn;

Expected<int64_t> polyattn::countExpansionTerms(int64_t summands, int64_t degree) {
  if (summands < 0 || summands > kMaxExpansionSummands)
    return createStringError("summands: expected a number from 0 to " +
                             Twine(kMaxExpansionSummands) + ", got " + Twine(summands));
  if (degree < 0)
    return createStringError("degree: expected a number >= 0, got " + Twine(degree));
  // binomial(degree + i, i) grows with i, so nothing overflows before the limit stops it.
  int64_t count = 1;
  for (int64_t i = 1; i <= summands; ++i) {
    if (degree < kMaxExpansionTerms)
      count = count * (degree + i) / i;
    if (degree >= kMaxExpansionTerms || count > kMaxExpansionTerms)
      return createStringError("expected at most " + Twine(kMaxExpansionTerms) +
                               " terms, got more from " + Twine(summands) +
                               " summands and degree " + Twine(degree));
  }
  return count;
}

/// Adds the terms whose exponents begin with `exponents`, which sum to `degree` and have the
/// multinomial coefficient `orders`.
static void addTerms(ArrayRef<double> polynomial, size_t summands, std::vector<int64_t> &exponents,
                     size_t degree, double orders, std::vector<ExpansionTerm> &terms) {
  if (exponents.size() == summands) {
    terms.push_back({polynomial[degree] * orders, exponents});
    return;
  }
  for (size_t exponent = 0; degree + exponent < polynomial.size(); ++exponent) {
    if (exponent > 0) // binomial(degree + exponent, exponent) from the one before
      orders = orders * double(degree + exponent) / double(exponent);
    exponents.push_back(exponent);
    addTerms(polynomial, summands, exponents, degree + exponent, orders, terms);
    exponents.pop_back();
  }
}

Expected<std::vector<ExpansionTerm>> polyattn::expandPolynomial(ArrayRef<double> polynomial,
                                                                int64_t summands) {
  if (polynomial.empty())
    return createStringError("polynomial: expected at least one coefficient");
  Expected<int64_t> count = countExpansionTerms(summands, polynomial.size() - 1);
  if (!count)
    return count.takeError();
  std::vector<ExpansionTerm> terms;
  terms.reserve(*count);
  std::vector<int64_t> exponents;
  addTerms(polynomial, summands, exponents, /*degree=*/0, /*orders=*/1, terms);
  return terms;
}

/// The matrix whose entries are 1, to which entry-wise products add factors.
static RescaledToeplitz onesOf(int64_t n) {
  return {std::vector<double>(n, 1), std::vector<double>(2 * n - 1, 1), std::vector<double>(n, 1)};
}

/// The matrix of the causal mask: 1 where i >= j.
static RescaledToeplitz causalMask(int64_t n) {
  RescaledToeplitz mask = onesOf(n);
  std::fill_n(mask.table.begin(), n - 1, 0);
  return mask;
}

Expected<RescaledToeplitz> polyattn::monomial(ArrayRef<RescaledToeplitz> matrices,
                                              ArrayRef<int64_t> exponents) {
  if (matrices.empty() || matrices.front().left.empty())
    return createStringError("matrices: expected at least one, of at least one row");
  if (exponents.size() != matrices.size())
    return createStringError("exponents: expected " + Twine(matrices.size()) + ", got " +
                             Twine(exponents.size()));
  RescaledToeplitz result = onesOf(matrices.front().size());
  for (auto [matrix, exponent] : zip_equal(matrices, exponents)) {
    if (exponent < 0)
      return createStringError("exponents: expected numbers >= 0, got " + Twine(exponent));
    for (int64_t i = 0; i < exponent; ++i) {
      Expected<RescaledToeplitz> product = entrywiseProduct(result, matrix);
      if (!product)
        return product.takeError();
      result = std::move(*product);
    }
  }
  return result;
}

static bool areFinite(ArrayRef<double> numbers) {
  return all_of(numbers, [](double x) { return std::isfinite(x); });
}

static Error checkArray(const char *name, const Array &array) {
  int64_t count = -1;
  if (array.rank() != 2 || any_of(array.shape, [](int64_t size) { return size < 0; }) ||
      MulOverflow(array.shape[0], array.shape[1], count) || int64_t(array.data.size()) != count)
    return createStringError(Twine(name) + ": expected two sizes and as many numbers as they say");
  if (!areFinite(array.data))
    return createStringError(Twine(name) + ": expected finite numbers");
  return Error::success();
}

static Error checkSequences(const GeneralRoPEAttention &a) {
  if (Error error = checkArray("queries", a.queries))
    return error;
  if (Error error = checkArray("keys", a.keys))
    return error;
  if (Error error = checkArray("values", a.values))
    return error;
  if (a.queries.shape[0] == 0)
    return createStringError("queries: expected at least one position");
  if (a.keys.shape != a.queries.shape)
    return createStringError("keys: expected the shape of queries");
  if (a.values.shape[0] != a.queries.shape[0])
    return createStringError("values: expected " + Twine(a.queries.shape[0]) + " positions, got " +
                             Twine(a.values.shape[0]));
  return Error::success();
}

static Error checkWeight(const GeneralRoPEAttention &a) {
  int64_t n = a.queries.shape[0], d = a.queries.shape[1];
  std::set<std::pair<int64_t, int64_t>> support;
  for (const WeightPlace &place : a.weight) {
    std::string name = formatv("weight ({0}, {1})", place.query, place.key);
    if (place.query < 0 || place.query >= d || place.key < 0 || place.key >= d)
      return createStringError(name + ": expected places from 0 to " + Twine(d - 1));
    if (!support.insert({place.query, place.key}).second)
      return createStringError(name + ": it is given twice");
    if (int64_t(place.table.size()) != 2 * n - 1)
      return createStringError(name + ": expected " + Twine(2 * n - 1) + " numbers, got " +
                               Twine(place.table.size()));
    if (!areFinite(place.table))
      return createStringError(name + ": expected finite numbers");
  }
  if (!std::isfinite(a.scoreScale))
    return createStringError("scoreScale: expected a finite number");
  if (!areFinite(a.polynomial))
    return createStringError("polynomial: expected finite numbers");
  return Error::success();
}

/// Claim 4.8: the scores of one place of W, diag(Q_r) Toep(W_rs) diag(K_s).
static RescaledToeplitz scoresOf(const WeightPlace &place, const GeneralRoPEAttention &a) {
  RescaledToeplitz scores = onesOf(a.queries.shape[0]);
  for (int64_t i = 0; i < scores.size(); ++i) {
    scores.left[i] = a.scoreScale * a.queries.at({i, place.query});
    scores.right[i] = a.keys.at({i, place.key});
  }
  scores.table = place.table;
  return scores;
}

/// The values with a column of ones, whose product is A 1.
static Array withOnes(const Array &values) {
  int64_t n = values.shape[0], dv = values.shape[1];
  Array result({n, dv + 1});
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t e = 0; e < dv; ++e)
      result.at({j, e}) = values.at({j, e});
    result.at({j, dv}) = 1;
  }
  return result;
}

/// D^-1 A V from A V and, in the last column, A 1.
static Expected<ExpansionResult> divide(const Array &sums, int64_t terms) {
  int64_t n = sums.shape[0], dv = sums.shape[1] - 1;
  ExpansionResult result{Array({n, dv}), {}, terms};
  for (int64_t i = 0; i < n; ++i) {
    double rowSum = sums.at({i, dv});
    if (!std::isfinite(rowSum) || rowSum == 0)
      return createStringError(
          formatv("row {0}: expected a finite sum of scores other than 0, got {1:e}", i, rowSum));
    result.rowSums.push_back(rowSum);
    for (int64_t e = 0; e < dv; ++e)
      result.output.at({i, e}) = sums.at({i, e}) / rowSum;
  }
  return result;
}

Expected<ExpansionResult> polyattn::evaluateByToeplitzTerms(const GeneralRoPEAttention &attention) {
  if (Error error = checkSequences(attention))
    return error;
  if (Error error = checkWeight(attention))
    return error;
  auto terms = expandPolynomial(attention.polynomial, attention.weight.size());
  if (!terms)
    return terms.takeError();
  int64_t n = attention.queries.shape[0];
  // The mask is the first factor of each term, to the power 1.
  std::vector<RescaledToeplitz> matrices{attention.causal ? causalMask(n) : onesOf(n)};
  for (const WeightPlace &place : attention.weight)
    matrices.push_back(scoresOf(place, attention));
  Array columns = withOnes(attention.values), sums(columns.shape);
  for (const ExpansionTerm &term : *terms) {
    SmallVector<int64_t> exponents{1};
    exponents.append(term.exponents.begin(), term.exponents.end());
    Expected<RescaledToeplitz> matrix = monomial(matrices, exponents);
    if (!matrix)
      return matrix.takeError();
    Expected<Array> product = multiply(*matrix, columns);
    if (!product)
      return product.takeError();
    for (auto [sum, number] : zip_equal(sums.data, product->data))
      sum += term.factor * number;
  }
  return divide(sums, terms->size());
}
