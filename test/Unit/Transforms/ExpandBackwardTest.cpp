//===- ExpandBackwardTest.cpp - gradients that attends compute ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--polyattn-expand-backward` makes of a backward entry is executed by the oracle and held
// against the oracle's own gradients of the attention as it was written.
//
//===----------------------------------------------------------------------===//

#include "../Reference/RandomArguments.h"
#include "../Reference/SpecLibrary.h"
#include "Derivation.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// Vectors %x and %y of [3] read from %q and %k, %c of [2] from %v, and an attend of them.
struct Case {
  const char *name;
  const char *vectors; // gives %a of %x, %b of %y
  const char *attend;  // from the value on
  const char *structure;
  const char *others = ""; // the types of further operands
};

std::string textOf(const Case &c, const std::string &arguments = "",
                   const std::string &results = "", const std::string &returned = "",
                   const std::string &returnedTypes = "") {
  std::string sequence = "tensor<?x?x?x3xf32>", structure = c.structure;
  bool states = !returned.empty();
  return "polyattn.attention @a(%q: " + sequence + ", %k: " + sequence +
         ", %v: tensor<?x?x?x2xf32>" + arguments + ") -> (o: tensor<?x?x?x2xf32>" + results +
         ") {\n%x = read %q : " + sequence + " -> [3]\n%y = read %k : " + sequence +
         " -> [3]\n%one = constant {value = 1.5, width = 1}\n" + c.vectors +
         "\n%c = read %v : tensor<?x?x?x2xf32> -> [2]\n%o" +
         (returned.size() > 6 ? ":3"
          : states            ? ":2"
                              : "") +
         " = attend query %a key %b value %c " + c.attend + " : " + structure + ", " + structure +
         ", [2]" + c.others + "\nreturn %o" + (states ? "#0, " : "") + returned + " : [2]" +
         returnedTypes + "\n}\n";
}

void expectExpandedGradients(const std::string &text, int64_t heads = 2) {
  Derivation derivation;
  ASSERT_TRUE(derivation.parse(text)) << text;
  AttentionOp attention = derivation.attentions()[0];
  ASSERT_TRUE(derivation.differentiate(attention, /*simplify=*/false));
  ASSERT_TRUE(derivation.expand());
  for (int64_t length : {7, 1, 0}) {
    GradientCall call(attention, {/*batch=*/2, length, length, heads, 2});
    expectDerivedGradients(derivation, call);
  }
  // The same in kernels, by way of states that are named, and read as views of others.
  if (!derivation.haveStates(/*mostFeatures=*/1000))
    return;
  ASSERT_TRUE(derivation.formKernels());
  GradientCall call(attention, {/*batch=*/2, 7, 7, heads, 2});
  expectDerivedGradients(derivation, call, /*differences=*/false, Reading::Recurrent);
}

class Expanded : public testing::TestWithParam<Case> {};

TEST_P(Expanded, AgreesWithTheOracle) { expectExpandedGradients(textOf(GetParam())); }

const char *kPlain = "%e = exp %x : [3]\n%twice = scale %x {factor = 2.0} : [3]\n"
                     "%inner = concat %one, %x : [1], [3]\n%half = scale %inner {factor = 0.5}"
                     " : [1] + [3]\n"
                     "%a = concat %e, %half, %twice : [3], [1] + [3], [3]\n"
                     "%other = concat %one, %y : [1], [3]\n"
                     "%b = concat %y, %other, %y : [3], [1] + [3], [3]";
const char *kPlainType = "[3] + ([1] + [3]) + [3]";

const char *kBased = "%xx = power 2 %x {symmetric} : [3]\n"
                     "%yy = power 2 %y {symmetric} : [3]\n"
                     "%half = scale %xx {factor = 0.5} : sym 2 [3]\n"
                     "%a = concat %one, %x, %half : [1], [3], sym 2 [3]\n"
                     "%b = concat %one, %y, %yy : [1], [3], sym 2 [3]";
const char *kLocalBased = "%xx = power 2 %x {symmetric} : [3]\n"
                          "%yy = power 2 %y {symmetric} : [3]\n"
                          "%a = concat %one, %x, %xx : [1], [3], sym 2 [3]\n"
                          "%b = concat %one, %y, %yy : [1], [3], sym 2 [3]\n"
                          "%ex = exp %x : [3]\n%lx = tensor %ex, %x : [3], [3]\n"
                          "%ly = tensor %y, %y : [3], [3]";
const char *kBasedType = "[1] + [3] + sym 2 [3]";

const char *kProducts = "%ex = exp %x : [3]\n%sx = scale %x {factor = -0.5} : [3]\n"
                        "%a = tensor %x, %sx, %ex : [3], [3], [3]\n"
                        "%sy = sin %y : [3]\n%b = tensor %y, %y, %sy : [3], [3], [3]";

INSTANTIATE_TEST_SUITE_P(
    ExpandBackward, Expanded,
    testing::Values(
        Case{"plain", kPlain, "causal normalize <none> {grouping = #polyattn.grouping<block>}",
             kPlainType},
        Case{"plain_decay", kPlain,
             "causal normalize <sum, eps = 0.1, reduce = mean> {signed_scores,"
             " decay_factors = array<f64: 0.5, 0.9>}",
             kPlainType},
        Case{"plain_full", kPlain, "full normalize <none>", kPlainType},
        Case{"plain_mean", kPlain,
             "full normalize <none, reduce = mean> {grouping = #polyattn.grouping<block>}",
             kPlainType},
        Case{"plain_sum", kPlain,
             "full normalize <sum, eps = 0.1> {score_scale = 0.3, signed_scores}", kPlainType},
        Case{"plain_bias", kPlain,
             "full normalize <bias, bias = 1.0, min_denom = 40.0> {signed_scores}", kPlainType},
        Case{"based", kBased, "causal normalize <none>", kBasedType},
        Case{"based_sum", kBased,
             "full normalize <sum, eps = 0.1> {score_scale = 0.3, signed_scores}", kBasedType},
        Case{"based_decay", kBased,
             "causal normalize <none> {decay_factors = array<f64: 0.5, 0.9>}", kBasedType},
        Case{"products", kProducts, "causal normalize <none>", "[3] x [3] x [3]"},
        Case{"of_itself",
             "%a = power 3 %x : [3]\n%b = scale %a {factor = 2.0} : pow 3 "
             "[3]",
             "causal normalize <none>", "pow 3 [3]"},
        Case{"nested",
             "%xx = concat %one, %x : [1], [3]\n%yy = concat %one, %y : [1], [3]\n"
             "%a = power 4 %xx {symmetric} : [1] + [3]\n"
             "%b = power 4 %yy {symmetric} : [1] + [3]",
             "full normalize <sum, eps = 0.1>", "sym 4 ([1] + [3])"},
        Case{"odd_magnitude",
             "%s = scale %x {factor = -2.0} : [3]\n%a = power 3 %s {abs} : [3]\n"
             "%b = power 3 %y {abs} : [3]",
             "causal normalize <sum, eps = 0.1>", "pow 3 [3]"},
        Case{"local", kLocalBased, "local %lx, %ly causal normalize <none> {block = 3}", kBasedType,
             ", [3] x [3], [3] x [3]"},
        Case{"local_of_products",
             "%a = tensor %x, %x : [3], [3]\n%b = tensor %y, %y : [3], [3]\n"
             "%lx = power 2 %x {symmetric} : [3]\n%ey = exp %y : [3]\n"
             "%ly = power 2 %ey {symmetric} : [3]",
             "local %lx, %ly causal normalize <sum, eps = 0.1> {signed_scores, block = 3,"
             " decay_factors = array<f64: 0.5, 0.9>}",
             "[3] x [3]", ", sym 2 [3], sym 2 [3]"},
        Case{"local_plain", "%a = exp %x : [3]\n%b = exp %y : [3]",
             "local %x, %y causal normalize <sum, eps = 0.1> {signed_scores, block = 2}", "[3]",
             ", [3], [3]"}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

struct StateCase {
  Case attend;
  int width; // D
  bool hasNormalizer;
};

class ExpandedStates : public testing::TestWithParam<StateCase> {};

TEST_P(ExpandedStates, AgreeWithTheOracle) {
  const StateCase &c = GetParam();
  std::string features = std::to_string(c.width);
  std::string state = "tensor<?x?x" + features + "x2xf32>", z = "tensor<?x?x" + features + "xf32>";
  std::string arguments = ", %s: " + state, results = ", state: " + state, types = ", " + state;
  if (c.hasNormalizer) {
    arguments += ", %z: " + z;
    results += ", norm: " + z;
    types += ", " + z;
  }
  Case attend = c.attend;
  std::string others = attend.others + types;
  attend.others = others.c_str();
  expectExpandedGradients(
      textOf(attend, arguments, results, c.hasNormalizer ? "%o#1, %o#2" : "%o#1", types));
}

INSTANTIATE_TEST_SUITE_P(
    ExpandBackward, ExpandedStates,
    testing::Values(
        StateCase{{"plain", kPlain, "initial %s causal normalize <none> {final_state}", kPlainType},
                  10,
                  false},
        StateCase{{"plain_sum", kPlain,
                   "initial %s initial_normalizer %z causal normalize <sum, eps = 0.1>"
                   " {signed_scores, final_state, score_scale = 0.3,"
                   " decay_factors = array<f64: 0.5, 0.9>}",
                   kPlainType},
                  10,
                  true},
        StateCase{{"one_feature", "%a = sum %x : [3]\n%b = sum %y : [3]",
                   "initial %s initial_normalizer %z causal normalize <sum, eps = 0.1>"
                   " {signed_scores, final_state}",
                   "[1]"},
                  1,
                  true},
        StateCase{{"products", kBased,
                   "initial %s initial_normalizer %z causal normalize <bias, bias = 3.0>"
                   " {signed_scores, final_state}",
                   kBasedType},
                  10,
                  true},
        StateCase{{"local", kLocalBased,
                   "local %lx, %ly initial %s causal normalize <none>"
                   " {final_state, block = 3, score_scale = 0.5}",
                   kBasedType, ", [3] x [3], [3] x [3]"},
                  10,
                  false}),
    [](const testing::TestParamInfo<StateCase> &info) { return info.param.attend.name; });

//===----------------------------------------------------------------------===//
// Decays
//===----------------------------------------------------------------------===//

struct DecayCase {
  Case attend;
  std::string gates = "tensor<?x?x?xf32>";
  int64_t heads = 2; // of queries; keys have two
  int width = 0;     // D, where there are states
  bool hasNormalizer = false;
};

class ExpandedDecays : public testing::TestWithParam<DecayCase> {};

TEST_P(ExpandedDecays, AgreeWithTheOracle) {
  const DecayCase &c = GetParam();
  std::string arguments = ", %g: " + c.gates, results, types, returned;
  auto addState = [&](const std::string &name, const std::string &shape) {
    std::string type = "tensor<?x?x" + shape + "xf32>";
    arguments += ", %" + name + ": " + type;
    results += ", final_" + name + ": " + type;
    returned += returned.empty() ? "%o#1" : ", %o#2";
    types += ", " + type;
  };
  if (c.width)
    addState("s", std::to_string(c.width) + "x2");
  if (c.hasNormalizer)
    addState("z", std::to_string(c.width));
  Case attend = c.attend;
  std::string others = attend.others + (", " + c.gates) + types;
  attend.others = others.c_str();
  expectExpandedGradients(textOf(attend, arguments, results, returned, types), c.heads);
}

const char *kBoth = "decay %g initial %s initial_normalizer %z causal normalize <sum, eps = 0.1> "
                    "{signed_scores, final_state, score_scale = 0.3}";

INSTANTIATE_TEST_SUITE_P(
    ExpandBackward, ExpandedDecays,
    testing::Values(
        DecayCase{{"plain", kPlain, "decay %g causal normalize <none>", kPlainType}},
        DecayCase{{"sum", kPlain,
                   "decay %g causal normalize <sum, eps = 0.1, reduce = mean> {signed_scores,"
                   " score_scale = 0.3}",
                   kPlainType}},
        DecayCase{{"of_head", kPlain, "decay %g causal normalize <sum, eps = 0.1> {signed_scores}",
                   kPlainType},
                  "tensor<?xf32>"},
        DecayCase{{"scores", kBased, "decay %g causal normalize <sum, eps = 0.1> {signed_scores}",
                   kBasedType}},
        DecayCase{
            {"scores_of_head", kProducts, "decay %g causal normalize <none>", "[3] x [3] x [3]"},
            "tensor<?xf32>"},
        DecayCase{{"local", kLocalBased,
                   "local %lx, %ly decay %g causal normalize <sum, eps = 0.1>"
                   " {signed_scores, block = 3}",
                   kBasedType, ", [3] x [3], [3] x [3]"}},
        DecayCase{{"grouped", kPlain,
                   "decay %g causal normalize <sum, eps = 0.1> {signed_scores,"
                   " grouping = #polyattn.grouping<block>}",
                   kPlainType},
                  "tensor<?x?x?xf32>",
                  /*heads=*/6},
        DecayCase{{"grouped_of_head", kBased,
                   "decay %g causal normalize <none> {grouping = #polyattn.grouping<interleaved>}",
                   kBasedType},
                  "tensor<?xf32>",
                  /*heads=*/4},
        DecayCase{{"query_gates", kPlain,
                   "decay %g causal normalize <sum, eps = 0.1> {signed_scores,"
                   " gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}",
                   kPlainType},
                  "tensor<?x?x?xf32>",
                  /*heads=*/4},
        DecayCase{{"query_gates_of_head", kPlain,
                   "decay %g causal normalize <none> {gate_heads = #polyattn.gate_heads<q>,"
                   " grouping = #polyattn.grouping<interleaved>}",
                   kPlainType},
                  "tensor<?xf32>",
                  /*heads=*/4},
        DecayCase{{"states", kPlain, "decay %g initial %s causal normalize <none> {final_state}",
                   kPlainType},
                  "tensor<?x?x?xf32>",
                  2,
                  10},
        DecayCase{{"states_sum", kPlain, kBoth, kPlainType}, "tensor<?x?x?xf32>", 2, 10, true},
        DecayCase{{"states_of_scores", kBased, kBoth, kBasedType}, "tensor<?xf32>", 2, 10, true}),
    [](const testing::TestParamInfo<DecayCase> &info) { return info.param.attend.name; });

//===----------------------------------------------------------------------===//
// The library of specs
//===----------------------------------------------------------------------===//

class ExpandedSpecs : public testing::TestWithParam<std::string> {};

TEST_P(ExpandedSpecs, AgreeWithTheOracle) {
  Derivation derivation;
  ASSERT_TRUE(derivation.parseFile(specPath(GetParam())));
  for (AttentionOp attention : derivation.attentions()) {
    if (!hasGradient(attention))
      continue;
    SCOPED_TRACE(attention.getSymName().str());
    ASSERT_TRUE(derivation.differentiate(attention, /*simplify=*/true));
    ASSERT_TRUE(derivation.expand());
    GradientCall call(attention, smallSizes(attention));
    expectDerivedGradients(derivation, call, /*differences=*/false);
    if (!derivation.haveStates(/*mostFeatures=*/600))
      continue;
    ASSERT_TRUE(derivation.formKernels());
    expectDerivedGradients(derivation, call, /*differences=*/false, Reading::Recurrent);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, ExpandedSpecs, testing::ValuesIn(specNames()), specTestName);

} // namespace
