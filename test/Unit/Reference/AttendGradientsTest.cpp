//===- AttendGradientsTest.cpp - gradients of masks, decays and states ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientChecks.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// One attend over positive features [3], or over signed ones, with values [2].
constexpr const char *kSpec = R"mlir(
  polyattn.feature_map @positive(%x: [4], %w: 4x3) {
    %p = project %x, %w : [4], 4x3
    %y = elu_plus_one %p : [3]
    yield %y : [3]
  }
  polyattn.feature_map @signed(%x: [4], %w: 4x3) {
    %y = project %x, %w : [4], 4x3
    yield %y : [3]
  }
  polyattn.feature_map @local(%x: [4], %w: 4x3) {
    %y = sigmoid %x : [4]
    yield %y : [4]
  }
  polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>,
                        %w: tensor<4x3xf32>ARGUMENTS) -> (o: tensor<?x?x?x2xf32>RESULTS) {
    %a = apply @MAP(%q, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> [3]
    %b = apply @MAP(%k, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> [3]
    %c = apply @local(%q, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> [4]
    %d = apply @local(%k, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> [4]
    %values = read %v : tensor<?x?x?x2xf32> -> [2]
    NAMES = attend query %a key %b value %values CLAUSES
      {grouping = #polyattn.grouping<GROUPING>, signed_scoresATTRIBUTES} : [3], [3], [2]TYPES
    return RETURN : [2]RESULTTYPES
  })mlir";

struct Case {
  const char *name, *map, *clauses;
  const char *attributes = "", *grouping = "block";
  CallSizes sizes = {2, 7, 7, 2, 2};
};

std::string specOf(const Case &c) {
  std::string spec = kSpec, clauses = c.clauses, attributes = c.attributes, arguments, types;
  auto has = [](const std::string &text, const char *what) {
    return text.find(what) != std::string::npos;
  };
  auto use = [&](const char *name, const char *type) {
    if (!has(clauses, name))
      return;
    arguments += std::string(", ") + name + ": " + type;
    types += std::string(", ") + type;
  };
  if (has(clauses, "local"))
    types += ", [4], [4]";
  use("%g", "tensor<?x?x?xf32>");
  use("%hg", "tensor<?xf32>");
  use("%s0", "tensor<?x?x3x2xf32>");
  use("%z0", "tensor<?x?x3xf32>");
  bool final = has(attributes, "final_state"), normalizer = !has(clauses, "<none");
  std::string results, names = "%o", given = "%o", resultTypes;
  if (final) {
    results = ", s: tensor<?x?x3x2xf32>";
    names = "%o:2";
    given = "%o#0, %o#1";
    resultTypes = ", tensor<?x?x3x2xf32>";
  }
  if (final && normalizer) {
    results += ", z: tensor<?x?x3xf32>";
    names = "%o:3";
    given += ", %o#2";
    resultTypes += ", tensor<?x?x3xf32>";
  }
  auto replace = [&](const std::string &what, const std::string &text) {
    for (size_t at; (at = spec.find(what)) != std::string::npos;)
      spec.replace(at, what.size(), text);
  };
  replace("ARGUMENTS", arguments);
  replace("RESULTTYPES", resultTypes);
  replace("RESULTS", results);
  replace("MAP", c.map);
  replace("NAMES", names);
  replace("CLAUSES", clauses);
  replace("ATTRIBUTES", attributes.empty() ? "" : ", " + attributes);
  replace("GROUPING", c.grouping);
  replace("RETURN", given);
  replace("TYPES", types);
  return spec;
}

struct Parsed {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  AttentionOp attention;

  explicit Parsed(const std::string &text) {
    context.loadDialect<PolyAttnDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    if (module)
      attention = *module->getOps<AttentionOp>().begin();
  }
};

constexpr const char *kSum = "causal normalize <sum, eps = 1.0e-6>";
constexpr const char *kDecaySum = "decay %g causal normalize <sum, eps = 1.0e-6>";
constexpr const char *kStates =
    "decay %g initial %s0 initial_normalizer %z0 causal normalize <bias, bias = 9.0>";
constexpr const char *kStatesOfHeads =
    "decay %hg initial %s0 initial_normalizer %z0 causal normalize <bias, bias = 9.0>";
constexpr CallSizes kGrouped = {2, 5, 5, 4, 2};

class AttendGradientsTest : public testing::TestWithParam<Case> {};

TEST_P(AttendGradientsTest, TapeAgreesWithDifferences) {
  Parsed parsed(specOf(GetParam()));
  ASSERT_TRUE(parsed.attention) << specOf(GetParam());
  GradientCall call(parsed.attention, GetParam().sizes);
  expectGradientsAreDifferences(call, /*elements=*/6);
}

INSTANTIATE_TEST_SUITE_P(
    Attend, AttendGradientsTest,
    testing::Values(
        Case{"causal", "positive", kSum},
        Case{"full", "positive", "full normalize <sum, eps = 0.1>"},
        Case{"none", "signed", "causal normalize <none>"},
        Case{"anticausal", "positive", "anticausal normalize <sum, eps = 1.0e-6>"},
        Case{"anticausal_decay", "positive", "decay %g anticausal normalize <sum, eps = 1.0e-6>"},
        Case{"anticausal_local", "positive",
             "local %c, %d decay %g anticausal normalize <sum, eps = 1.0e-6>", "block = 3"},
        Case{"bias", "positive", "causal normalize <bias, bias = 1.0>"},
        Case{"mean", "positive", "causal normalize <sum, eps = 0.1, reduce = mean>"},
        Case{"mean_without_denominator", "positive", "full normalize <none, reduce = mean>"},
        Case{"guarded", "positive",
             "causal normalize <sum, eps = 0.0, guard_below = 6.0, guard_add = 2.0>"},
        Case{"floor_on_both_sides", "signed",
             "causal normalize <sum, eps = 1.0e-6, min_denom = 0.8>"},
        Case{"score_scale", "positive", kSum, "score_scale = 0.3"},
        Case{"more_keys",
             "positive",
             "full normalize <sum, eps = 0.1>",
             "",
             "block",
             {2, 3, 8, 2, 2}},
        Case{"fewer_keys",
             "positive",
             "full normalize <sum, eps = 0.1>",
             "",
             "block",
             {2, 8, 3, 2, 2}},
        Case{
            "no_keys", "positive", "full normalize <sum, eps = 0.1>", "", "block", {2, 3, 0, 2, 2}},
        Case{"groups", "positive", kSum, "", "block", kGrouped},
        Case{"interleaved_groups", "positive", kSum, "", "interleaved", kGrouped},
        Case{"decay", "positive", kDecaySum},
        Case{"decay_of_groups", "positive", kDecaySum, "", "block", kGrouped},
        Case{"decay_of_query_heads", "positive", kDecaySum, "gate_heads = #polyattn.gate_heads<q>",
             "block", kGrouped},
        Case{"decay_of_heads", "positive", "decay %hg causal normalize <sum, eps = 1.0e-6>"},
        Case{"constant_decay", "positive", kSum, "decay_factors = array<f64: 0.5, 0.9>"},
        Case{"local", "positive", "local %c, %d causal normalize <sum, eps = 1.0e-6>", "block = 3"},
        Case{"local_decay", "positive",
             "local %c, %d decay %g causal normalize <sum, eps = 1.0e-6>", "block = 3"},
        Case{"local_groups", "positive", "local %c, %d causal normalize <none>", "block = 3",
             "interleaved", kGrouped},
        Case{"states", "positive", kStates, "final_state"},
        Case{"states_without_normalizer", "positive", "initial %s0 causal normalize <none>",
             "final_state"},
        Case{"final_state_only", "positive", kSum, "final_state"},
        Case{"initial_state_only", "positive", kStates},
        Case{"states_of_groups", "positive", kStates, "final_state", "interleaved", kGrouped},
        Case{"states_of_query_heads", "positive", kStates,
             "final_state, gate_heads = #polyattn.gate_heads<q>", "block", kGrouped},
        Case{"states_with_decay_of_heads", "positive", kStatesOfHeads, "final_state", "block",
             kGrouped},
        Case{"states_beside_local_blocks", "positive",
             "local %c, %d decay %g initial %s0 initial_normalizer %z0 causal "
             "normalize <sum, eps = 1.0e-6>",
             "final_state, score_scale = 0.5, block = 3"},
        Case{"one_position", "positive", kStates, "final_state", "block", {1, 1, 1, 1, 1}},
        Case{"no_positions", "positive", kStates, "final_state", "block", {2, 0, 0, 2, 2}}),
    [](const auto &info) { return std::string(info.param.name); });

/// Gates of very different strength, resets among them.
void setStrongGates(Array &gates, double strongest) {
  const double kLogarithms[] = {-1e-3, -3, -30, strongest, -1e-3, -0.3};
  for (size_t i = 0; i < gates.data.size(); ++i)
    gates.data[i] = kLogarithms[(i * 5 + i / 6) % 6];
}

TEST(AttendGradients, StrongDecaysKeepTheirDigits) {
  Parsed parsed(specOf({"strong", "positive", kStates, "final_state"}));
  GradientCall call(parsed.attention, {2, 9, 9, 2, 2});
  setStrongGates(call.argument("g"), -100);
  expectGradientsAreDifferences(call, /*elements=*/30);
}

/// A reset lets nothing through, and what it lets through does not grow however it is moved. No
/// difference leads there from -inf; a gate of -100 is close enough.
TEST(AttendGradients, ResetsAreWhatStrongDecaysTendTo) {
  for (const char *attributes :
       {"final_state", "final_state, gate_heads = #polyattn.gate_heads<q>"}) {
    Parsed parsed(specOf({"reset", "positive", kStates, attributes}));
    GradientCall call(parsed.attention, {2, 9, 9, 2, 2});
    setStrongGates(call.argument("g"), -INFINITY);
    NamedArrays reset = call.gradients();
    setStrongGates(call.argument("g"), -100);
    for (auto &[name, gradient] : call.gradients())
      for (auto [x, y] : llvm::zip(gradient.data, reset[name].data))
        EXPECT_NEAR(x, y, 1e-12) << name;
  }
}

/// FLA's issue 875: the normalizer's part of dk was missing.
TEST(AttendGradients, ConstantValuesOverTheirSumDoNotMove) {
  for (const char *mask : {"causal", "full"}) {
    std::string clauses = std::string(mask) + " normalize <sum, eps = 0.0>";
    Parsed parsed(specOf({"constant", "positive", clauses.c_str()}));
    GradientCall call(parsed.attention, {2, 9, 9, 2, 2});
    llvm::fill(call.argument("v").data, 0.7);
    NamedArrays gradients = call.gradients();
    for (const char *name : {"q", "k", "w"})
      EXPECT_LT(normOf(gradients[name]), 1e-14) << mask << " " << name;
    EXPECT_GT(normOf(gradients["v"]), 1);
  }
}

TEST(AttendGradients, WhatIsNotGivenIsZero) {
  Parsed parsed(specOf({"states", "positive", kStates, "final_state"}));
  GradientCall call(parsed.attention, {2, 5, 5, 2, 2});
  call.ofResults.erase("o");
  call.ofResults.erase("z");
  NamedArrays gradients = call.gradients();
  EXPECT_EQ(normOf(gradients["q"]), 0); // the state knows keys and values only
  EXPECT_EQ(normOf(gradients["z0"]), 0);
  EXPECT_GT(normOf(gradients["k"]), 0);
  expectGradientsAreDifferences(call, /*elements=*/3);
  call.ofResults.clear();
  for (const auto &[name, gradient] : call.gradients())
    EXPECT_EQ(normOf(gradient), 0) << name;
}

/// What is asked for does not change what it is.
TEST(AttendGradients, GradientsDoNotDependOnWhichAreAskedFor) {
  Parsed parsed(specOf({"states", "positive", kStates, "final_state"}));
  GradientCall call(parsed.attention, {2, 5, 5, 2, 2});
  NamedArrays all = call.gradients();
  for (const std::string &name : call.differentiable()) {
    NamedArrays one = call.gradientsOf(name);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[name].data, all[name].data) << name;
  }
}

/// The state of the first part of a sequence is what the second part begins with, and the gradient
/// of the second part's beginning is that of the first part's end.
TEST(AttendGradients, PartsOfASequenceAreChainedByTheirStates) {
  Parsed parsed(specOf({"states", "positive", kStates, "final_state"}));
  GradientCall whole(parsed.attention, {1, 9, 9, 2, 2});
  NamedArrays expected = whole.gradients();
  GradientCall first(parsed.attention, {1, 4, 4, 2, 2}), second(parsed.attention, {1, 5, 5, 2, 2});
  auto take = [](const Array &from, Array &to, int64_t begin) {
    int64_t row = int64_t(to.data.size()) / to.shape[1];
    std::copy_n(from.data.begin() + begin * row, to.data.size(), to.data.begin());
  };
  for (const char *name : {"q", "k", "v", "g"}) {
    take(whole.argument(name), first.argument(name), 0);
    take(whole.argument(name), second.argument(name), 4);
  }
  for (GradientCall *part : {&first, &second})
    part->argument("w") = whole.argument("w");
  take(whole.ofResults["o"], first.ofResults["o"], 0);
  take(whole.ofResults["o"], second.ofResults["o"], 4);
  first.argument("s0") = whole.argument("s0");
  first.argument("z0") = whole.argument("z0");
  auto results = *evaluate(parsed.attention, first.arguments, first.sizes, Reading::Scores);
  second.argument("s0") = results[1];
  second.argument("z0") = results[2];
  second.ofResults["s"] = whole.ofResults["s"];
  second.ofResults["z"] = whole.ofResults["z"];
  NamedArrays ofSecond = second.gradients();
  first.ofResults["s"] = ofSecond["s0"];
  first.ofResults["z"] = ofSecond["z0"];
  NamedArrays ofFirst = first.gradients();

  for (const char *name : {"q", "k", "v", "g"}) {
    std::vector<double> chained = ofFirst[name].data;
    llvm::append_range(chained, ofSecond[name].data);
    for (auto [x, y] : llvm::zip(expected[name].data, chained))
      EXPECT_NEAR(x, y, 1e-13) << name;
  }
  for (size_t i = 0; i < expected["w"].data.size(); ++i)
    EXPECT_NEAR(expected["w"].data[i], ofFirst["w"].data[i] + ofSecond["w"].data[i], 1e-13);
  for (const char *name : {"s0", "z0"})
    for (auto [x, y] : llvm::zip(expected[name].data, ofFirst[name].data))
      EXPECT_NEAR(x, y, 1e-13) << name;
}

//===----------------------------------------------------------------------===//
// Tensors of other kinds
//===----------------------------------------------------------------------===//

TEST(AttendGradients, WeightsOfHeadsTablesAndPositions) {
  Parsed parsed(R"mlir(
    polyattn.feature_map @phi(%x: [4], %p: [4], %w: 4x4, %f: 2) {
      %s = add %x, %p : [4], [4]
      %r = rope %s, %f {layout = #polyattn.rope_layout<half>, dims = 4, offset = 0.0, scale = 1.0}
        : [4], 2
      %y = project %r, %w : [4], 4x4
      yield %y : [4]
    }
    polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>,
                          %v: tensor<?x?x?x2xf32>, %w: tensor<?x4x4xf32>, %f: tensor<2xf32>,
                          %table: tensor<?x?x4xf32>, %shared: tensor<?x1x4xf32>,
                          %first: tensor<?xi64>) -> (o: tensor<?x?x?x2xf32>)
        first_position %first {
      %a = apply @phi(%q, %table, %w, %f) : tensor<?x?x?x4xf32>, tensor<?x?x4xf32>,
        tensor<?x4x4xf32>, tensor<2xf32> -> [4]
      %b = apply @phi(%k, %shared, %w, %f) : tensor<?x?x?x4xf32>, tensor<?x1x4xf32>,
        tensor<?x4x4xf32>, tensor<2xf32> -> [4]
      %values = read %v : tensor<?x?x?x2xf32> -> [2]
      %o = attend query %a key %b value %values causal normalize <none, reduce = mean>
        : [4], [4], [2]
      return %o : [2]
    })mlir");
  ASSERT_TRUE(parsed.attention);
  GradientCall call(parsed.attention, {2, 5, 5, 2, 2, /*rows=*/9});
  call.argument("first").data = {0, 3};
  expectGradientsAreDifferences(call, /*elements=*/6);
}

TEST(AttendGradients, AttendsOfAttendsAndWhatComesAfterThem) {
  Parsed parsed(R"mlir(
    polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x3xf32>, %g: tensor<3xf32>)
        -> (o: tensor<?x?x?x3xf32>, middle: tensor<?x?x?x3xf32>, sum: tensor<?x?x?x3xf32>) {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %values = read %v : tensor<?x?x?x3xf32> -> [3]
      %w = read %g : tensor<3xf32> -> 3
      %e = exp %x : [4]
      %middle = attend query %e key %e value %values causal normalize <sum, eps = 0.1>
        : [4], [4], [3]
      %t = tanh %middle : [3]
      %k = exp %t : [3]
      %o = attend query %k key %k value %middle causal normalize <sum, eps = 0.1> : [3], [3], [3]
      %gained = mul_vec %o, %w : [3], 3
      %sum = hadamard %gained, %values, %middle : [3], [3], [3]
      return %o, %middle, %sum : [3], [3], [3]
    })mlir");
  ASSERT_TRUE(parsed.attention);
  GradientCall call(parsed.attention, {2, 5, 5, 2, 2});
  expectGradientsAreDifferences(call, /*elements=*/6);
}

//===----------------------------------------------------------------------===//
// What has no gradient
//===----------------------------------------------------------------------===//

/// The diagnostic of asking for `wrt`.
std::string refusal(Parsed &parsed, const std::string &wrt) {
  std::string text;
  ScopedDiagnosticHandler handler(&parsed.context, [&](Diagnostic &diagnostic) {
    text = diagnostic.str();
    return success();
  });
  GradientCall call(parsed.attention, {1, 2, 2, 2, 2, /*rows=*/9});
  EXPECT_TRUE(
      failed(evaluateGradients(parsed.attention, call.arguments, call.sizes, call.ofResults, wrt)));
  return text;
}

TEST(AttendGradients, WhatHasNoGradientIsRefused) {
  Parsed rowMax(specOf({"max", "positive", "full normalize <sum, eps = 0.1, eps_mode = row_max>"}));
  ASSERT_TRUE(rowMax.attention);
  EXPECT_NE(refusal(rowMax, "q").find("row_max"), std::string::npos);
  Parsed sum(specOf({"sum", "positive", kSum}));
  EXPECT_NE(refusal(sum, "x").find("no argument 'x'"), std::string::npos);
}

} // namespace
