//===- ToeplitzExpansionTest.cpp - the algorithm of Fast RoPE Attention ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithm agrees with the scores of all pairs, and specs agree with the algorithm.
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/ToeplitzExpansion.h"
#include "SpecLibrary.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Reference/Evaluate.h"
#include "polyattn/Reference/ExpPolynomial.h"
#include <cmath>
#include <random>
#include <set>

using namespace llvm;
using namespace polyattn;

namespace {

std::vector<double> draw(std::mt19937 &random, size_t count) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> numbers(count);
  for (double &x : numbers)
    x = uniform(random);
  return numbers;
}

Array drawArray(std::mt19937 &random, ArrayRef<int64_t> shape) {
  Array array(shape);
  array.data = draw(random, array.data.size());
  return array;
}

double evaluatePolynomial(ArrayRef<double> coefficients, double x) {
  double result = 0;
  for (double c : reverse(coefficients))
    result = result * x + c;
  return result;
}

double largestDifference(ArrayRef<double> a, ArrayRef<double> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (auto [x, y] : zip(a, b))
    largest = std::max(largest, std::abs(x - y));
  return largest;
}

struct PairsResult {
  Array output;
  std::vector<double> rowSums;
};

/// Definition 1.1 from the scores of all pairs, with any function in the place of exp.
PairsResult evaluatePairs(const GeneralRoPEAttention &a, function_ref<double(double)> function) {
  int64_t n = a.queries.shape[0], dv = a.values.shape[1];
  PairsResult result{Array({n, dv}), std::vector<double>(n)};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < (a.causal ? i + 1 : n); ++j) {
      double sum = 0;
      for (const WeightPlace &place : a.weight)
        sum +=
            a.queries.at({i, place.query}) * place.table[i - j + n - 1] * a.keys.at({j, place.key});
      double score = function(a.scoreScale * sum);
      result.rowSums[i] += score;
      for (int64_t e = 0; e < dv; ++e)
        result.output.at({i, e}) += score * a.values.at({j, e});
    }
    for (int64_t e = 0; e < dv; ++e)
      result.output.at({i, e}) /= result.rowSums[i];
  }
  return result;
}

/// Numbers between -1 and 1, and `places` places of W that begin in the corner of 2 x 2 blocks.
GeneralRoPEAttention drawAttention(std::mt19937 &random, int64_t n, int64_t d, int64_t dv,
                                   int64_t places, bool causal) {
  GeneralRoPEAttention a;
  a.queries = drawArray(random, {n, d});
  a.keys = drawArray(random, {n, d});
  a.values = drawArray(random, {n, dv});
  for (int64_t s = 0; s < places; ++s)
    a.weight.push_back({s / 4 * 2 + s / 2 % 2, s / 4 * 2 + s % 2, draw(random, 2 * n - 1)});
  a.scoreScale = 1 / std::sqrt(double(d));
  a.causal = causal;
  return a;
}

/// A random polynomial that is at least 1 on the scores, so that no row sum cancels.
std::vector<double> drawPolynomial(std::mt19937 &random, int64_t degree, double largestScore) {
  std::vector<double> polynomial = draw(random, degree + 1);
  polynomial[0] = 1;
  for (int64_t k = 1; k <= degree; ++k)
    polynomial[0] += std::abs(polynomial[k]) * std::pow(largestScore, k);
  return polynomial;
}

/// The message of a failure, empty where there is none.
template <typename T> std::string messageOf(Expected<T> result) {
  return result ? "" : toString(result.takeError());
}

//===----------------------------------------------------------------------===//
// Rescaled Toeplitz matrices
//===----------------------------------------------------------------------===//

RescaledToeplitz drawMatrix(std::mt19937 &random, int64_t n) {
  return {draw(random, n), draw(random, 2 * n - 1), draw(random, n)};
}

double entry(const RescaledToeplitz &m, int64_t i, int64_t j) {
  return m.left[i] * m.table[i - j + m.size() - 1] * m.right[j];
}

TEST(RescaledToeplitzTest, ProductsAgreeWithTheMatrix) {
  std::mt19937 random(1);
  for (int64_t n : {1, 2, 3, 4, 5, 13, 16, 17, 64, 101, 128}) {
    SCOPED_TRACE(n);
    RescaledToeplitz matrix = drawMatrix(random, n);
    Array columns = drawArray(random, {n, 3}), expected({n, 3});
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t e = 0; e < 3; ++e)
          expected.at({i, e}) += entry(matrix, i, j) * columns.at({j, e});
    Expected<Array> product = multiply(matrix, columns);
    ASSERT_TRUE(bool(product)) << toString(product.takeError());
    EXPECT_LT(largestDifference(product->data, expected.data), 1e-13);
  }
}

TEST(RescaledToeplitzTest, EntrywiseProductsHaveProductsOfEntries) {
  std::mt19937 random(2);
  RescaledToeplitz a = drawMatrix(random, 7), b = drawMatrix(random, 7);
  Expected<RescaledToeplitz> product = entrywiseProduct(a, b);
  Expected<RescaledToeplitz> powers = monomial({a, b}, {2, 3});
  ASSERT_TRUE(product && powers);
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 7; ++j) {
      double x = entry(a, i, j), y = entry(b, i, j);
      EXPECT_NEAR(entry(*product, i, j), x * y, 1e-15);
      EXPECT_NEAR(entry(*powers, i, j), x * x * y * y * y, 1e-15);
    }
}

TEST(RescaledToeplitzTest, RefusesOtherSizes) {
  std::mt19937 random(3);
  RescaledToeplitz matrix = drawMatrix(random, 4), wrong = matrix;
  Array columns = drawArray(random, {4, 2});
  EXPECT_EQ(messageOf(multiply({}, columns)), "left: expected at least one number");
  wrong.right.pop_back();
  EXPECT_EQ(messageOf(multiply(wrong, columns)), "right: expected 4 numbers as left has, got 3");
  wrong = matrix;
  wrong.table.push_back(0);
  EXPECT_EQ(messageOf(multiply(wrong, columns)), "table: expected 7 numbers, got 8");
  wrong = matrix;
  wrong.table[3] = INFINITY;
  EXPECT_EQ(messageOf(multiply(wrong, columns)), "table: expected finite numbers");
  EXPECT_EQ(messageOf(multiply(matrix, Array({5, 2}))), "columns: expected the shape [4, m]");
  columns.data.pop_back();
  EXPECT_EQ(messageOf(multiply(matrix, columns)), "columns: expected the shape [4, m]");
  EXPECT_EQ(messageOf(entrywiseProduct(matrix, drawMatrix(random, 5))),
            "expected matrices of the same size, got 4 and 5");
  EXPECT_EQ(messageOf(monomial({}, {})), "matrices: expected at least one, of at least one row");
  EXPECT_EQ(messageOf(monomial({matrix}, {1, 1})), "exponents: expected 1, got 2");
  EXPECT_EQ(messageOf(monomial({matrix}, {-1})), "exponents: expected numbers >= 0, got -1");
}

//===----------------------------------------------------------------------===//
// The expansion
//===----------------------------------------------------------------------===//

int64_t termsOf(int64_t summands, int64_t degree) {
  return cantFail(countExpansionTerms(summands, degree));
}

TEST(ToeplitzExpansionTest, TermsAreBinomialAndDistinct) {
  EXPECT_EQ(termsOf(0, 3), 1);
  EXPECT_EQ(termsOf(4, 0), 1);
  EXPECT_EQ(termsOf(4, 2), 15);
  EXPECT_EQ(termsOf(8, 2), 45);
  EXPECT_EQ(termsOf(8, 4), 495);
  EXPECT_EQ(termsOf(8, 8), 12870);
  EXPECT_EQ(termsOf(16, 4), 4845);
  EXPECT_EQ(termsOf(128, 2), 8385);
  for (int64_t summands : {0, 1, 2, 5})
    for (int64_t degree : {0, 1, 4}) {
      std::vector<double> polynomial(degree + 1, 1);
      auto terms = cantFail(expandPolynomial(polynomial, summands));
      EXPECT_EQ(int64_t(terms.size()), termsOf(summands, degree));
      std::set<std::vector<int64_t>> distinct;
      for (const ExpansionTerm &term : terms)
        distinct.insert(term.exponents);
      EXPECT_EQ(distinct.size(), terms.size());
    }
}

TEST(ToeplitzExpansionTest, TermsSumToThePolynomial) {
  std::mt19937 random(4);
  std::vector<double> polynomial = draw(random, 7), summands = draw(random, 5);
  double sum = 0, expanded = 0;
  for (double z : summands)
    sum += z;
  for (const ExpansionTerm &term : cantFail(expandPolynomial(polynomial, 5))) {
    double product = term.factor;
    for (auto [z, exponent] : zip_equal(summands, term.exponents))
      product *= std::pow(z, exponent);
    expanded += product;
  }
  EXPECT_NEAR(expanded, evaluatePolynomial(polynomial, sum), 1e-12);
}

struct Sizes {
  int64_t n, d, places, degree;
};

class ExpansionAgainstPairsTest : public testing::TestWithParam<Sizes> {};

TEST_P(ExpansionAgainstPairsTest, Agree) {
  auto [n, d, places, degree] = GetParam();
  for (bool causal : {false, true})
    for (unsigned seed : {1, 2, 3}) {
      SCOPED_TRACE(causal ? "causal" : "full");
      std::mt19937 random(seed);
      GeneralRoPEAttention a = drawAttention(random, n, d, /*dv=*/3, places, causal);
      a.polynomial = drawPolynomial(random, degree, a.scoreScale * double(places));
      Expected<ExpansionResult> terms = evaluateByToeplitzTerms(a);
      ASSERT_TRUE(bool(terms)) << toString(terms.takeError());
      PairsResult pairs =
          evaluatePairs(a, [&](double s) { return evaluatePolynomial(a.polynomial, s); });
      EXPECT_EQ(terms->terms, termsOf(places, degree));
      EXPECT_EQ(terms->output.shape, pairs.output.shape);
      EXPECT_LT(largestDifference(terms->output.data, pairs.output.data), 1e-12);
      for (auto [sum, expected] : zip_equal(terms->rowSums, pairs.rowSums))
        EXPECT_NEAR(sum, expected, 1e-12 * expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ExpansionAgainstPairsTest,
                         testing::Values(Sizes{1, 2, 4, 2}, Sizes{2, 1, 1, 4}, Sizes{3, 2, 2, 0},
                                         Sizes{7, 2, 3, 3}, Sizes{13, 4, 8, 2}, Sizes{31, 2, 4, 4},
                                         Sizes{64, 4, 6, 2}, Sizes{65, 4, 8, 4},
                                         Sizes{97, 8, 16, 2}, Sizes{20, 3, 0, 2},
                                         Sizes{11, 2, 4, 6}),
                         [](const testing::TestParamInfo<Sizes> &info) {
                           const Sizes &s = info.param;
                           return "T" + std::to_string(s.n) + "_d" + std::to_string(s.d) + "_S" +
                                  std::to_string(s.places) + "_g" + std::to_string(s.degree);
                         });

TEST(ToeplitzExpansionTest, RefusesMalformedAttentions) {
  std::mt19937 random(5);
  const GeneralRoPEAttention good = [&] {
    GeneralRoPEAttention a = drawAttention(random, 5, 2, 3, 4, false);
    a.polynomial = {2, 0.1, 0.1};
    return a;
  }();
  auto refusal = [&](function_ref<void(GeneralRoPEAttention &)> change) {
    GeneralRoPEAttention a = good;
    change(a);
    return messageOf(evaluateByToeplitzTerms(a));
  };
  EXPECT_EQ(refusal([](auto &) {}), "");
  EXPECT_EQ(refusal([](auto &a) { a.queries.data.pop_back(); }),
            "queries: expected two sizes and as many numbers as they say");
  EXPECT_EQ(refusal([](auto &a) { a.keys = Array(); }),
            "keys: expected two sizes and as many numbers as they say");
  EXPECT_EQ(refusal([](auto &a) {
              a.values.shape = {int64_t(1) << 40, int64_t(1) << 40};
              a.values.data.clear();
            }),
            "values: expected two sizes and as many numbers as they say");
  EXPECT_EQ(refusal([](auto &a) { a.values.data[2] = NAN; }), "values: expected finite numbers");
  EXPECT_EQ(refusal([](auto &a) { a.queries = Array({0, 2}); }),
            "queries: expected at least one position");
  EXPECT_EQ(refusal([](auto &a) { a.keys = Array({5, 3}); }),
            "keys: expected the shape of queries");
  EXPECT_EQ(refusal([](auto &a) { a.values = Array({4, 3}); }),
            "values: expected 5 positions, got 4");
  EXPECT_EQ(refusal([](auto &a) { a.weight[1].key = 2; }),
            "weight (0, 2): expected places from 0 to 1");
  EXPECT_EQ(refusal([](auto &a) { a.weight[1].key = 0; }), "weight (0, 0): it is given twice");
  EXPECT_EQ(refusal([](auto &a) { a.weight[2].table.pop_back(); }),
            "weight (1, 0): expected 9 numbers, got 8");
  EXPECT_EQ(refusal([](auto &a) { a.weight[2].table[0] = NAN; }),
            "weight (1, 0): expected finite numbers");
  EXPECT_EQ(refusal([](auto &a) { a.scoreScale = INFINITY; }),
            "scoreScale: expected a finite number");
  EXPECT_EQ(refusal([](auto &a) { a.polynomial.clear(); }),
            "polynomial: expected at least one coefficient");
  EXPECT_EQ(refusal([](auto &a) { a.polynomial[0] = NAN; }), "polynomial: expected finite numbers");
  EXPECT_EQ(refusal([](auto &a) { a.polynomial.resize(100); }),
            "expected at most 131072 terms, got more from 4 summands and degree 99");
  EXPECT_EQ(refusal([](auto &a) { a.polynomial = {0}; }),
            "row 0: expected a finite sum of scores other than 0, got 0.000000e+00");
  EXPECT_EQ(messageOf(countExpansionTerms(-1, 2)),
            "summands: expected a number from 0 to 256, got -1");
  EXPECT_EQ(messageOf(countExpansionTerms(257, 0)),
            "summands: expected a number from 0 to 256, got 257");
  EXPECT_EQ(messageOf(countExpansionTerms(1, -2)), "degree: expected a number >= 0, got -2");
  EXPECT_NE(messageOf(countExpansionTerms(256, INT64_MAX)), "");
}

//===----------------------------------------------------------------------===//
// The polynomial for exp
//===----------------------------------------------------------------------===//

TEST(ExpPolynomialTest, ErrorsAreBelowTheGivenOne) {
  for (double bound : {0.1, 1.0, 3.0, 8.0, 16.0})
    for (double error : {0.09, 1e-3, 1e-6}) {
      SCOPED_TRACE(testing::Message() << "bound " << bound << ", error " << error);
      std::vector<double> polynomial = cantFail(expPolynomial(error, bound));
      double largest = 0;
      for (int i = -1000; i <= 1000; ++i) {
        double x = bound * i / 1000;
        largest = std::max(largest, std::abs(evaluatePolynomial(polynomial, x) - std::exp(x)));
      }
      EXPECT_LT(largest, error);
      // The degree is not larger than needed: no term reduces the error by a factor of 1000.
      EXPECT_GT(largest, error * 1e-3);
    }
}

TEST(ExpPolynomialTest, DegreesHaveTheOrderOfTheLemma) {
  for (double bound : {1.5, 3.0, 6.0, 12.0})
    for (double error : {1e-2, 1e-4, 1e-7}) {
      double digits = std::log(1 / error);
      // The first term of the lemma's maximum is for errors whose logarithm exceeds the bound.
      double order = digits > std::exp(1) * bound
                         ? std::max(digits / std::log(digits / bound), bound)
                         : std::max(digits, bound);
      double degree = double(cantFail(expPolynomial(error, bound)).size()) - 1;
      EXPECT_LT(degree, 3 * order) << "bound " << bound << ", error " << error;
      EXPECT_GT(degree, order / 3) << "bound " << bound << ", error " << error;
    }
}

TEST(ExpPolynomialTest, RefusesOtherArguments) {
  EXPECT_EQ(messageOf(expPolynomial(0, 1)),
            "error: expected a number above 0 and below 0.1, got 0.000000e+00");
  EXPECT_EQ(messageOf(expPolynomial(0.1, 1)),
            "error: expected a number above 0 and below 0.1, got 1.000000e-01");
  EXPECT_NE(messageOf(expPolynomial(NAN, 1)), "");
  EXPECT_EQ(messageOf(expPolynomial(0.01, -1)),
            "bound: expected a finite number above 0, got -1.000000e+00");
  EXPECT_NE(messageOf(expPolynomial(0.01, INFINITY)), "");
  EXPECT_NE(messageOf(expPolynomial(0.01, 1000)), "");
  EXPECT_EQ(messageOf(expPolynomial(1e-14, 1)),
            "error: expected at least 1e-13 exp(bound) = 2.718282e-13, got 1.000000e-14");
}

/// Theorem D.3: where P is within e of exp relatively, outputs are within 2e / (1 - e).
TEST(ToeplitzExpansionTest, ExpAttentionIsWithinTheBoundOfThePaper) {
  for (bool causal : {false, true})
    for (double e : {5e-2, 1e-3, 1e-6}) {
      SCOPED_TRACE(testing::Message() << "causal " << causal << ", e " << e);
      std::mt19937 random(6);
      GeneralRoPEAttention a = drawAttention(random, 59, 2, 3, 4, causal);
      double largestScore = a.scoreScale * 4;
      a.polynomial = cantFail(expPolynomial(e * std::exp(-largestScore), largestScore));
      Expected<ExpansionResult> terms = evaluateByToeplitzTerms(a);
      ASSERT_TRUE(bool(terms)) << toString(terms.takeError());
      PairsResult exact = evaluatePairs(a, [](double s) { return std::exp(s); });
      double error = largestDifference(terms->output.data, exact.output.data);
      EXPECT_LT(error, 2 * e / (1 - e)); // values are at most 1
      EXPECT_GT(error, 0);
      for (auto [sum, expected] : zip_equal(terms->rowSums, exact.rowSums))
        EXPECT_LT(std::abs(sum - expected), e * expected);
    }
}

//===----------------------------------------------------------------------===//
// Specs against the algorithm
//===----------------------------------------------------------------------===//

/// The polynomial of degree 2 of specs/relative.mlir and specs/fast-rope.mlir: factors of features
/// count twice in a score.
std::vector<double> polynomialOfSpecs() {
  return {std::pow(1.0134232833691079, 2), std::pow(1.0554046585996855, 2),
          std::pow(0.68509215015205138, 2)};
}

/// The rows of one batch and head of [B, T, H, d].
Array headOf(const Array &array, int64_t batch, int64_t head) {
  Array rows({array.shape[1], array.shape[3]});
  for (int64_t i = 0; i < array.shape[1]; ++i)
    for (int64_t c = 0; c < array.shape[3]; ++c)
      rows.at({i, c}) = array.at({batch, i, head, c});
  return rows;
}

/// The table of one head, [H, n], as numbers for all lags of T positions, 0 beyond the table. The
/// table begins with `first`, a negative lag or 0.
std::vector<double> tableOf(const Array &tables, int64_t head, int64_t first, int64_t positions) {
  std::vector<double> numbers;
  for (int64_t lag = 1 - positions; lag < positions; ++lag) {
    bool inside = lag >= first && lag < first + tables.shape[1];
    numbers.push_back(inside ? tables.at({head, lag - first}) : 0);
  }
  return numbers;
}

class SpecsAgainstExpansionTest : public testing::Test {
protected:
  void SetUp() override { context.loadDialect<PolyAttnDialect>(); }

  AttentionOp entryOf(mlir::OwningOpRef<mlir::ModuleOp> parsed, StringRef name) {
    module = std::move(parsed);
    return module ? module->lookupSymbol<AttentionOp>(name) : AttentionOp();
  }
  AttentionOp entryOfFile(const std::string &spec, StringRef name) {
    return entryOf(mlir::parseSourceFile<mlir::ModuleOp>(specPath(spec), &context), name);
  }

  /// Evaluates the entry, and each head of it by `attentionOf`, which fills in the weight.
  void expectAgreement(AttentionOp entry, std::vector<Array> arguments, const CallSizes &sizes,
                       GeneralRoPEAttention attention,
                       function_ref<std::vector<WeightPlace>(int64_t head)> weightOf) {
    ASSERT_TRUE(entry);
    auto results = evaluate(entry, arguments, sizes, Reading::Scores);
    ASSERT_TRUE(succeeded(results));
    attention.polynomial = polynomialOfSpecs();
    for (int64_t batch = 0; batch < sizes.batch; ++batch)
      for (int64_t head = 0; head < sizes.heads; ++head) {
        attention.queries = headOf(arguments[0], batch, head);
        attention.keys = headOf(arguments[1], batch, head);
        attention.values = headOf(arguments[2], batch, head);
        attention.weight = weightOf(head);
        Expected<ExpansionResult> terms = evaluateByToeplitzTerms(attention);
        ASSERT_TRUE(bool(terms)) << toString(terms.takeError());
        Array rows = headOf(results->front(), batch, head);
        EXPECT_EQ(rows.shape, terms->output.shape);
        EXPECT_LT(largestDifference(rows.data, terms->output.data), 1e-12);
      }
  }

  /// Queries, keys and values of the sizes.
  std::vector<Array> drawSequences(const CallSizes &sizes, int64_t d, int64_t dv) {
    return {drawArray(random, {sizes.batch, sizes.queries, sizes.heads, d}),
            drawArray(random, {sizes.batch, sizes.queries, sizes.heads, d}),
            drawArray(random, {sizes.batch, sizes.queries, sizes.heads, dv})};
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::mt19937 random{7};
};

constexpr std::pair<int64_t, int64_t> kPlaces[] = {{0, 0}, {0, 1}, {1, 0}, {2, 3}};

/// Definition 1.1 as specs/relative.mlir has it, @relative_rope, also beyond its 512 distances.
TEST_F(SpecsAgainstExpansionTest, GeneralWeight) {
  for (int64_t n : {1, 101, 530}) {
    SCOPED_TRACE(n);
    CallSizes sizes{/*batch=*/1, n, n, /*heads=*/2, /*kvHeads=*/2};
    std::vector<Array> arguments = drawSequences(sizes, 8, 64);
    for (size_t s = 0; s < std::size(kPlaces); ++s)
      arguments.push_back(drawArray(random, {2, 512}));
    GeneralRoPEAttention attention;
    attention.causal = true;
    expectAgreement(entryOfFile("relative", "relative_rope"), arguments, sizes, attention,
                    [&](int64_t head) {
                      std::vector<WeightPlace> weight;
                      for (auto [s, place] : enumerate(kPlaces))
                        weight.push_back({place.first, place.second,
                                          tableOf(arguments[3 + s], head, /*first=*/0, n)});
                      return weight;
                    });
  }
}

/// The same under the mask full, with numbers for lags of both signs, some of them beyond tables.
TEST_F(SpecsAgainstExpansionTest, GeneralWeightOfBothSides) {
  constexpr const char *kSpec = R"mlir(
    polyattn.attention @both_sides<d = 4, dv = 3, lags = 65>(
        q, k: seq[d], v: seq[dv], w00, w01, w10, w23: head_weight[lags]) {
      a = relative(w00, beyond = zero, two_sided = true)
      b = relative(w01, beyond = zero, two_sided = true)
      c = relative(w10, beyond = zero, two_sided = true)
      e = relative(w23, beyond = zero, two_sided = true)
      x = concat(tensor(a, q[0]), tensor(b, q[0]), tensor(c, q[1]), tensor(e, q[2]))
      y = concat(tensor(a, k[0]), tensor(b, k[1]), tensor(c, k[0]), tensor(e, k[3]))
      map exp_2(s) {
        return concat(1.0134232833691079, s * 1.0554046585996855, sym(s, 2) * 0.68509215015205138)
      }
      return attend(exp_2(x), exp_2(y), v) full normalize sum(0)
    }
  )mlir";
  for (int64_t n : {1, 33, 53}) {
    SCOPED_TRACE(n);
    CallSizes sizes{/*batch=*/2, n, n, /*heads=*/3, /*kvHeads=*/3};
    std::vector<Array> arguments = drawSequences(sizes, 4, 3);
    for (size_t s = 0; s < std::size(kPlaces); ++s)
      arguments.push_back(drawArray(random, {3, 65}));
    expectAgreement(entryOf(mlir::parseSourceString<mlir::ModuleOp>(kSpec, &context), "both_sides"),
                    arguments, sizes, {}, [&](int64_t head) {
                      std::vector<WeightPlace> weight;
                      for (auto [s, place] : enumerate(kPlaces))
                        weight.push_back({place.first, place.second,
                                          tableOf(arguments[3 + s], head, /*first=*/-32, n)});
                      return weight;
                    });
  }
}

/// Remark 1.2: rotary positions are blocks of 2 x 2 numbers, R(-(i - j) f). The features of
/// specs/fast-rope.mlir, @fast_rope_p2_d8, rotate queries and keys instead.
TEST_F(SpecsAgainstExpansionTest, RotaryPositions) {
  constexpr int64_t n = 43, d = 8;
  CallSizes sizes{/*batch=*/1, n, n, /*heads=*/2, /*kvHeads=*/2};
  std::vector<Array> arguments = drawSequences(sizes, d, 64);
  Array frequencies({d / 2});
  for (int64_t m = 0; m < d / 2; ++m)
    frequencies.at({m}) = std::pow(10000.0, -2.0 * double(m) / double(d));
  arguments.push_back(frequencies);
  GeneralRoPEAttention attention;
  attention.causal = true;
  attention.scoreScale = 1 / std::sqrt(double(d));
  auto blocks = [&](int64_t) {
    std::vector<WeightPlace> weight;
    for (int64_t m = 0; m < d / 2; ++m) {
      std::vector<double> cosines, sines, negatedSines;
      for (int64_t lag = 1 - n; lag < n; ++lag) {
        double angle = -double(lag) * frequencies.at({m});
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(angle));
        negatedSines.push_back(-std::sin(angle));
      }
      weight.push_back({2 * m, 2 * m, cosines});
      weight.push_back({2 * m, 2 * m + 1, negatedSines});
      weight.push_back({2 * m + 1, 2 * m, sines});
      weight.push_back({2 * m + 1, 2 * m + 1, cosines});
    }
    return weight;
  };
  expectAgreement(entryOfFile("fast-rope", "fast_rope_p2_d8"), arguments, sizes, attention, blocks);
}

} // namespace
