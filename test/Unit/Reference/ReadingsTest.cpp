//===- ReadingsTest.cpp - the oracle's two readings agree -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Reference/Evaluate.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace polyattn;

namespace {

constexpr int64_t kBatch = 2, kTokens = 13, kHeads = 4, kKvHeads = 2;

Array randomArray(ArrayRef<int64_t> shape, unsigned seed, double low = -1, double high = 1) {
  Array array(shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  for (double &x : array.data)
    x = uniform(random);
  return array;
}

double relativeError(const Array &a, const Array &b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.data.size(); ++i) {
    difference += (a.data[i] - b.data[i]) * (a.data[i] - b.data[i]);
    size += b.data[i] * b.data[i];
  }
  return std::sqrt(difference / size);
}

struct Case {
  const char *name;
  const char *map;    // body of a feature map of %x: [4], %w: 4x3
  const char *result; // its structure
  const char *attend; // what follows `value %values`, up to the types
  const char *types;  // more operand types
  bool strongGates = false;
};

std::string specOf(const Case &c) {
  std::string structure = c.result;
  bool state = std::string(c.attend).find("final_state") != std::string::npos;
  std::string results = state
                            ? "o: tensor<?x?x?x5xf32>, s: tensor<?x?x3x5xf32>, z: tensor<?x?x3xf32>"
                            : "o: tensor<?x?x?x5xf32>";
  std::string bind = state ? "%o:3" : "%o";
  std::string give = state ? "return %o#0, %o#1, %o#2 : [5], tensor<?x?x3x5xf32>, tensor<?x?x3xf32>"
                           : "return %o : [5]";
  return std::string("polyattn.feature_map @phi(%x: [4], %w: 4x3) {\n") + c.map +
         "\nyield %y : " + structure +
         "\n}\npolyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>,"
         " %v: tensor<?x?x?x5xf32>, %w: tensor<4x3xf32>, %g: tensor<?x?x?xf32>,"
         " %s0: tensor<?x?x3x5xf32>, %z0: tensor<?x?x3xf32>) -> (" +
         results +
         ") {\n"
         "%a = apply @phi(%q, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> " +
         structure + "\n%b = apply @phi(%k, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> " +
         structure + "\n%values = read %v : tensor<?x?x?x5xf32> -> [5]\n" + bind +
         " = attend query %a key %b value %values " + c.attend + " : " + structure + ", " +
         structure + ", [5]" + c.types + "\n" + give + "\n}\n";
}

/// What an attention has in its arguments: q, k, v, w, and what the case uses of g, s0, z0.
constexpr size_t kGates = 4;
constexpr CallSizes kSizes{kBatch, kTokens, kTokens, kHeads, kKvHeads};

class ReadingsTest : public testing::TestWithParam<Case> {
protected:
  bool uses(const std::string &word) const {
    return std::string(GetParam().attend).find(word) != std::string::npos;
  }

  std::string text() const {
    // Arguments that a case does not use have shapes of their own; drop them from its spec.
    std::string text = specOf(GetParam());
    auto dropUnused = [&](const std::string &use, const std::string &declaration) {
      if (!uses(use))
        text.erase(text.find(declaration), declaration.size());
    };
    dropUnused("%g", ", %g: tensor<?x?x?xf32>");
    dropUnused("%s0", ", %s0: tensor<?x?x3x5xf32>, %z0: tensor<?x?x3xf32>");
    return text;
  }

  std::string anticausalText() const {
    std::string text = this->text();
    return text.insert(text.find("causal normalize"), "anti");
  }

  std::vector<Array> arguments() const {
    std::vector<Array> arguments = {randomArray({kBatch, kTokens, kHeads, 4}, 1),
                                    randomArray({kBatch, kTokens, kKvHeads, 4}, 2),
                                    randomArray({kBatch, kTokens, kKvHeads, 5}, 3),
                                    randomArray({4, 3}, 4)};
    if (uses("%g"))
      arguments.push_back(randomArray({kBatch, kTokens, kKvHeads}, 5, -2, 0));
    if (GetParam().strongGates)
      for (size_t i = 0; i < arguments.back().data.size(); i += 3)
        arguments.back().data[i] = i % 2 ? -std::pow(10.0, i) : -INFINITY;
    if (uses("%s0")) {
      arguments.push_back(randomArray({kBatch, kKvHeads, 3, 5}, 6));
      arguments.push_back(randomArray({kBatch, kKvHeads, 3}, 7));
    }
    return arguments;
  }

  std::vector<Array> run(const std::string &text, ArrayRef<Array> arguments, Reading reading) {
    MLIRContext context;
    context.loadDialect<PolyAttnDialect>();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    auto results = evaluate(*module->getOps<AttentionOp>().begin(), arguments, kSizes, reading);
    EXPECT_TRUE(succeeded(results));
    return *results;
  }

  void expectAgreement(const std::string &text) {
    std::vector<Array> scores = run(text, arguments(), Reading::Scores);
    std::vector<Array> recurrent = run(text, arguments(), Reading::Recurrent);
    for (size_t i = 0; i < scores.size(); ++i)
      EXPECT_LT(relativeError(scores[i], recurrent[i]), 1e-12);
  }
};

TEST_P(ReadingsTest, ScoresAgreeWithState) { expectAgreement(text()); }

TEST_P(ReadingsTest, ScoresAgreeWithStateBackwards) {
  if (uses("causal"))
    expectAgreement(anticausalText());
}

/// What is at position t comes to (T - 1 - t + shift) mod T.
Array reversedInTime(const Array &array, int64_t shift = 0) {
  Array reversed(array.shape);
  int64_t inner = array.data.size() / (kBatch * kTokens);
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t t = 0; t < kTokens; ++t)
      std::copy_n(array.data.begin() + (b * kTokens + t) * inner, inner,
                  reversed.data.begin() +
                      (b * kTokens + (kTokens - 1 - t + shift) % kTokens) * inner);
  return reversed;
}

/// Nothing but the order of time makes a difference. The gate of position t stands between t - 1
/// and t, and so at T - t in the other order; that of position 0 between the state that is given
/// and the first key, where an anticausal attend has none: it is 0 here.
TEST_P(ReadingsTest, AnticausalIsCausalBackwards) {
  if (!uses("causal") || uses("block =")) // blocks are counted from position 0
    return;
  std::vector<Array> forwards = arguments();
  if (uses("%g"))
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t h = 0; h < kKvHeads; ++h)
        forwards[kGates].at({b, 0, h}) = 0;
  std::vector<Array> backwards = forwards;
  for (size_t i = 0; i < 3; ++i)
    backwards[i] = reversedInTime(forwards[i]);
  if (uses("%g"))
    backwards[kGates] = reversedInTime(forwards[kGates], /*shift=*/1);
  for (Reading reading : {Reading::Scores, Reading::Recurrent}) {
    std::vector<Array> expected = run(text(), forwards, reading);
    std::vector<Array> got = run(anticausalText(), backwards, reading);
    EXPECT_LT(relativeError(reversedInTime(got[0]), expected[0]), 1e-12);
    for (size_t i = 1; i < got.size(); ++i)
      EXPECT_LT(relativeError(got[i], expected[i]), 1e-12);
  }
}

// exp(-1e5) and exp(-inf) are 0, and nothing of what lies before them is left in the third row.
TEST(Readings, GatesAfterAStrongOneKeepTheirDigits) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"mlir(
    polyattn.attention @a(%q: tensor<?x?x?x1xf32>, %k: tensor<?x?x?x1xf32>,
                          %v: tensor<?x?x?x1xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x1x1xf32>)
        -> (o: tensor<?x?x?x1xf32>, final: tensor<?x?x1x1xf32>) {
      %x = read %q : tensor<?x?x?x1xf32> -> [1]
      %y = read %k : tensor<?x?x?x1xf32> -> [1]
      %z = read %v : tensor<?x?x?x1xf32> -> [1]
      %o:2 = attend query %x key %y value %z decay %g initial %s causal normalize <none> {final_state}
        : [1], [1], [1], tensor<?x?x?xf32>, tensor<?x?x1x1xf32>
      return %o#0, %o#1 : [1], tensor<?x?x1x1xf32>
    })mlir",
                                                             &context);
  ASSERT_TRUE(module);
  auto attention = *module->getOps<AttentionOp>().begin();
  Array ones({1, 3, 1, 1}), gates({1, 3, 1}), state({1, 1, 1, 1});
  llvm::fill(ones.data, 1.0);
  state.data = {1e300};
  for (double strong : {-1e5, -1e8, -1e30, double(-INFINITY)})
    for (Reading reading : {Reading::Scores, Reading::Recurrent}) {
      gates.data = {0, strong, -0.3};
      auto results =
          evaluate(attention, {ones, ones, ones, gates, state}, {1, 3, 3, 1, 1}, reading);
      ASSERT_TRUE(succeeded(results));
      EXPECT_EQ((*results)[0].data[1], 1) << strong;
      EXPECT_NEAR((*results)[0].data[2], 1 + std::exp(-0.3), 1e-15) << strong;
      EXPECT_NEAR((*results)[1].data[0], 1 + std::exp(-0.3), 1e-15) << strong;
    }
}

const char *kProject = "%y = project %x, %w : [4], 4x3";
const char *kBias = "causal normalize <bias, bias = 1.0>";

INSTANTIATE_TEST_SUITE_P(
    Attend, ReadingsTest,
    testing::Values(
        Case{"identity", kProject, "[3]", "causal normalize <none>", ""},
        Case{"full", kProject, "[3]", "full normalize <none, reduce = mean>", ""},
        Case{"symmetric", "%y = power 2 %x {symmetric} : [4]", "sym 2 [4]", kBias, ""},
        Case{"tspow", "%y = power 2 %x {symmetric, block = 2} : [4]", "sym 2 block 2 [4]", kBias,
             ""},
        Case{"tensor", "%p = project %x, %w : [4], 4x3\n%y = tensor %x, %p, %x : [4], [3], [4]",
             "[4] x [3] x [4]", "causal normalize <none>", ""},
        Case{"based",
             "%one = constant {value = 1.0, width = 1}\n%h = scale %x {factor = 0.5} : [4]\n"
             "%xx = power 2 %h : [4]\n%c = scale %xx {factor = 0.7} : pow 2 [4]\n"
             "%y = concat %one, %h, %c : [1], [4], pow 2 [4]",
             "[1] + [4] + pow 2 [4]", "causal normalize <sum, eps = 1.0e-6> {signed_scores}", ""},
        Case{"decay", "%y = elu_plus_one %x : [4]", "[4]",
             "decay %g causal normalize <sum, eps = 1.0e-6>", ", tensor<?x?x?xf32>"},
        Case{"strongGates", "%y = elu_plus_one %x : [4]", "[4]",
             "decay %g causal normalize <sum, eps = 1.0e-6>", ", tensor<?x?x?xf32>", true},
        Case{"strongGatesBesideLocalBlocks", "%y = elu_plus_one %x : [4]", "[4]",
             "local %a, %b decay %g causal normalize <sum, eps = 1.0e-6> {block = 5}",
             ", [4], [4], tensor<?x?x?xf32>", true},
        Case{"factors", kProject, "[3]",
             "causal normalize <none> {decay_factors = array<f64: 0.5, 0.9>}", ""},
        Case{"interleaved", kProject, "[3]",
             "causal normalize <none> {grouping = #polyattn.grouping<interleaved>, score_scale = "
             "0.5}",
             ""},
        Case{"floor", kProject, "[3]",
             "causal normalize <sum, eps = 1.0e-6, min_denom = 0.3> {signed_scores}", ""},
        Case{"states",
             "%e = elu_plus_one %x : [4]\n%y = select %e {indices = array<i64: 0, 2, 3>} : [4]",
             "[3]",
             "decay %g initial %s0 initial_normalizer %z0 causal normalize <bias, bias = 9.0>"
             " {final_state}",
             ", tensor<?x?x?xf32>, tensor<?x?x3x5xf32>, tensor<?x?x3xf32>"}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

} // namespace
