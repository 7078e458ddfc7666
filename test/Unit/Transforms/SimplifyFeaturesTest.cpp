//===- SimplifyFeaturesTest.cpp - the oracle before and after -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Reference/RandomArguments.h"
#include "../Reference/SpecLibrary.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "polyattn/Transforms/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace polyattn;

namespace {

/// Where the features are more, the recurrent reading would take the test too long.
constexpr int64_t kMaxFeatures = 2000;

LogicalResult simplify(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createInlineMaps());
  passes.addPass(createSimplifyFeatures());
  return passes.run(module);
}

double relativeError(const Array &a, const Array &b) {
  double difference = 0, size = 0;
  for (auto [x, y] : llvm::zip(a.data, b.data)) {
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

int64_t widthOf(AttentionOp attention) {
  int64_t width = 0;
  for (auto attend : attention.getBody().getOps<AttendOp>())
    width = std::max(width, cast<FeatureType>(attend.getKey().getType()).getWidth());
  return width;
}

bool hasRecurrentReading(AttentionOp attention) {
  return llvm::all_of(attention.getBody().getOps<AttendOp>(), mayHaveState);
}

/// What the attention computed before, it computes after, by scores and, where there are
/// such, by features.
void expectSameResults(AttentionOp before, AttentionOp after, double tolerance) {
  SCOPED_TRACE(before.getSymName().str());
  EXPECT_LE(widthOf(after), widthOf(before));
  CallSizes sizes = smallSizes(before);
  std::vector<Array> arguments = randomArguments(before, sizes);
  auto expected = evaluate(before, arguments, sizes, Reading::Scores);
  auto scores = evaluate(after, arguments, sizes, Reading::Scores);
  ASSERT_TRUE(succeeded(expected) && succeeded(scores));
  for (auto [a, b] : llvm::zip(*scores, *expected))
    EXPECT_LT(relativeError(a, b), tolerance);
  if (widthOf(after) > kMaxFeatures || !hasRecurrentReading(after))
    return;
  auto recurrent = evaluate(after, arguments, sizes, Reading::Recurrent);
  ASSERT_TRUE(succeeded(recurrent));
  for (auto [a, b] : llvm::zip(*recurrent, *expected))
    EXPECT_LT(relativeError(a, b), tolerance);
}

void expectSameResults(ModuleOp module, double tolerance) {
  OwningOpRef<ModuleOp> simplified = module.clone();
  ASSERT_TRUE(succeeded(simplify(*simplified)));
  for (auto attention : module.getOps<AttentionOp>())
    expectSameResults(attention, simplified->lookupSymbol<AttentionOp>(attention.getSymName()),
                      tolerance);
}

//===----------------------------------------------------------------------===//
// Every rewrite, one by one
//===----------------------------------------------------------------------===//

struct Case {
  const char *name;
  const char *map;    // of %x: [4], %w: 4x3, %u: 3x4
  const char *result; // the structure of %y
  const char *attend; // from the mask on, up to the types
};

class Rewrites : public testing::TestWithParam<Case> {};

TEST_P(Rewrites, KeepTheResults) {
  std::string structure = GetParam().result;
  std::string inputs = "tensor<?x?x?x4xf32>, tensor<4x3xf32>, tensor<3x4xf32> -> ";
  std::string text =
      "polyattn.feature_map @phi(%x: [4], %w: 4x3, %u: 3x4) {\n" + std::string(GetParam().map) +
      "\nyield %y : " + structure +
      "\n}\npolyattn.feature_map @exact(%x: [4]) {\n%s = scale %x {factor = 0.7} : [4]\n"
      "%y = power 2 %s : [4]\nyield %y : pow 2 [4]\n}\n"
      "polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>,"
      " %v: tensor<?x?x?x5xf32>, %w: tensor<4x3xf32>, %u: tensor<3x4xf32>)"
      " -> (o: tensor<?x?x?x5xf32>) {\n"
      "%a = apply @phi(%q, %w, %u) : " +
      inputs + structure + "\n%b = apply @phi(%k, %w, %u) : " + inputs + structure +
      "\n%c = apply @exact(%q) : tensor<?x?x?x4xf32> -> pow 2 [4]"
      "\n%d = apply @exact(%k) : tensor<?x?x?x4xf32> -> pow 2 [4]"
      "\n%values = read %v : tensor<?x?x?x5xf32> -> [5]\n"
      "%o = attend query %a key %b value %values ";
  bool local = StringRef(GetParam().attend).contains("block = ");
  text += std::string(local ? "local %c, %d " : "") + GetParam().attend + " : " + structure + ", " +
          structure + ", [5]" + (local ? ", pow 2 [4], pow 2 [4]" : "") + "\nreturn %o : [5]\n}\n";
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  expectSameResults(*module, 1e-12);
}

const char *kNone = "causal normalize <none>";
const char *kBias = "causal normalize <bias, bias = 1.0>";
const char *kSigned = "causal normalize <sum, eps = 1.0e-3> {signed_scores}";
const char *kBased =
    "%one = constant {value = 1.0, width = 1}\n%h = scale %x {factor = 0.5} : [4]\n"
    "%xx = tensor %h, %h : [4], [4]\n"
    "%c = scale %xx {factor = 0.70710678118654757} : [4] x [4]\n"
    "%y = concat %one, %h, %c : [1], [4], [4] x [4]";
const char *kBasedType = "[1] + [4] + [4] x [4]";
const char *kSquare = "%h = scale %x {factor = 0.5} : [4]\n%y = tensor %h, %h : [4], [4]";

INSTANTIATE_TEST_SUITE_P(
    SimplifyFeatures, Rewrites,
    testing::Values(
        Case{"square", kSquare, "[4] x [4]", kBias},
        Case{"square_sum", kSquare, "[4] x [4]", "causal normalize <sum, eps = 1.0e-2>"},
        Case{"square_mean", kSquare, "[4] x [4]",
             "full normalize <sum, eps = 1.0e-2, reduce = mean>"},
        Case{"square_row_max", kSquare, "[4] x [4]",
             "causal normalize <sum, eps = 1.0e-2, eps_mode = row_max>"},
        Case{"square_floor", kSquare, "[4] x [4]",
             "causal normalize <sum, eps = 1.0e-6, min_denom = 0.3> {score_scale = 3.0}"},
        Case{"square_guard", kSquare, "[4] x [4]",
             "causal normalize <sum, eps = 0.0, guard_below = 0.1, guard_add = 0.2>"},
        Case{"square_decay", kSquare, "[4] x [4]",
             "causal normalize <bias, bias = 1.0> {decay_factors = array<f64: 0.5, 0.9>}"},
        Case{"local_other_factor", kSquare, "[4] x [4]",
             "causal normalize <bias, bias = 1.0> {block = 4}"},
        Case{"local_same_factor", "%h = scale %x {factor = 0.7} : [4]\n%y = power 2 %h : [4]",
             "pow 2 [4]", "causal normalize <bias, bias = 1.0> {block = 4, score_scale = 0.3}"},
        Case{"tensor_power", "%y = power 3 %x : [4]", "pow 3 [4]", kNone},
        Case{"nested_power", "%z = power 2 %x {symmetric} : [4]\n%y = power 2 %z : sym 2 [4]",
             "pow 2 sym 2 [4]", kBias},
        Case{"degree_beyond_the_largest",
             "%p = select %x {indices = array<i64: 0>} : [4]\n%s = scale %p {factor = 0.1} : [1]\n"
             "%z = power 10 %s : [1]\n%t = power 8 %z : pow 10 [1]\n"
             "%y = tensor %t, %z : pow 8 pow 10 [1], pow 10 [1]",
             "pow 8 pow 10 [1] x pow 10 [1]", kBias},
        Case{"power_of_tensor",
             "%p = project %x, %w : [4], 4x3\n%t = tensor %x, %p : [4], [3]\n"
             "%y = power 2 %t : [4] x [3]",
             "pow 2 ([4] x [3])", kBias},
        Case{"tensor_of_powers",
             "%p = power 2 %x {symmetric, block = 2} : [4]\n%s = scale %p {factor = -2.0}"
             " : sym 2 block 2 [4]\n%y = tensor %x, %s : [4], sym 2 block 2 [4]",
             "[4] x sym 2 block 2 [4]", kNone},
        Case{"constant_in_tensor",
             "%c = constant {value = -3.0, width = 2}\n%y = tensor %x, %c : [4], [2]", "[4] x [2]",
             kNone},
        Case{"only_constants", "%c = constant {value = -3.0, width = 2}\n%y = power 2 %c : [2]",
             "pow 2 [2]", kBias},
        Case{"absolute", "%h = scale %x {factor = -2.0} : [4]\n%y = power 3 %h {abs} : [4]",
             "pow 3 [4]", "causal normalize <bias, bias = 1.0>"},
        Case{"even_absolute", "%y = power 2 %x {abs} : [4]", "pow 2 [4]", kBias},
        Case{"based", kBased, kBasedType, kBias}, Case{"based_signed", kBased, kBasedType, kSigned},
        Case{"based_local", kBased, kBasedType,
             "causal normalize <sum, eps = 1.0e-3> {signed_scores, block = 4}"},
        Case{"power_of_concat",
             "%one = constant {value = 1.0, width = 1}\n%c = concat %one, %x : [1], [4]\n"
             "%y = power 2 %c : [1] + [4]",
             "pow 2 ([1] + [4])", kBias},
        Case{"nested_concat",
             "%z = scale %x {factor = 0.0} : [4]\n%c = constant {value = 2.0, width = 3}\n"
             "%i = concat %x, %c, %z : [4], [3], [4]\n%j = scale %i {factor = -0.5} : [4] + [3] + "
             "[4]\n"
             "%y = concat %j, %x, %c : [4] + [3] + [4], [4], [3]",
             "([4] + [3] + [4]) + [4] + [3]", kSigned},
        Case{"zero_of_highest_degree",
             "%t = power 2 %x : [4]\n%z = scale %t {factor = 0.0} : pow 2 [4]\n"
             "%y = concat %x, %z : [4], pow 2 [4]",
             "[4] + pow 2 [4]", kNone},
        Case{"zero_of_local_degree",
             "%t = power 2 %x : [4]\n%z = scale %t {factor = 0.0} : pow 2 [4]\n"
             "%y = concat %x, %z : [4], pow 2 [4]",
             "[4] + pow 2 [4]", "causal normalize <none> {block = 4}"},
        Case{"linear_ops",
             "%h = scale %x {factor = -0.5} : [4]\n%p = project %h, %w : [4], 4x3\n"
             "%s = select %p {indices = array<i64: 2, 0>} : [3]\n%y = hadamard %s, %s : [2], [2]",
             "[2]", kBias},
        Case{"project_of_project",
             "%h = scale %x {factor = -0.5} : [4]\n%p = project %h, %w : [4], 4x3\n"
             "%y = project %p, %u : [3], 3x4",
             "[4]", kNone},
        Case{"project_three_times",
             "%p = project %x, %w : [4], 4x3\n%r = project %p, %u : [3], 3x4\n"
             "%y = project %r, %w : [4], 4x3",
             "[3]", kNone},
        Case{"equal_terms",
             "%p = project %x, %w : [4], 4x3\n%a = tensor %x, %x : [4], [4]\n"
             "%b = tensor %x, %p : [4], [3]\n%c = power 2 %x {symmetric} : [4]\n"
             "%d = tensor %p, %x : [3], [4]\n"
             "%y = concat %a, %b, %c, %d : [4] x [4], [4] x [3], sym 2 [4], [3] x [4]",
             "[4] x [4] + [4] x [3] + sym 2 [4] + [3] x [4]", kSigned},
        Case{"equal_sums",
             "%p = project %x, %w : [4], 4x3\n%a = concat %x, %p : [4], [3]\n"
             "%b = concat %p, %x : [3], [4]\n%y = tensor %a, %b : [4] + [3], [3] + [4]",
             "([4] + [3]) x ([3] + [4])", kNone},
        Case{"elements",
             "%h = scale %x {factor = -0.5} : [4]\n%a = abs %h : [4]\n%r = relu %a : [4]\n"
             "%two = constant {value = 2.0, width = 1}\n%e = exp %two : [1]\n"
             "%y = hadamard %r, %e : [4], [1]",
             "[4]", "causal normalize <sum, eps = 1.0e-6>"},
        Case{"sums",
             "%h = scale %x {factor = -0.5} : [4]\n%c = constant {value = 2.0, width = 1}\n"
             "%a = add %h, %c, %x : [4], [1], [4]\n%y = hadamard %a, %a : [4], [4]",
             "[4]", kBias}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// The library of specs
//===----------------------------------------------------------------------===//

class SimplifiedSpecs : public testing::TestWithParam<std::string> {};

TEST_P(SimplifiedSpecs, KeepTheResults) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(specPath(GetParam()), &context);
  ASSERT_TRUE(module);
  expectSameResults(*module, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Library, SimplifiedSpecs, testing::ValuesIn(specNames()), specTestName);

} // namespace
