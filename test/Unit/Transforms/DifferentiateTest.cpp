//===- DifferentiateTest.cpp - derived gradients against the oracle's -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--polyattn-differentiate` makes of an attention is executed by the oracle and held against
// the oracle's own gradients of the attention as it was written, which know nothing of the rules,
// and against differences.
//
//===----------------------------------------------------------------------===//

#include "../Reference/RandomArguments.h"
#include "../Reference/SpecLibrary.h"
#include "Derivation.h"

using namespace mlir;
using namespace polyattn;

namespace {

//===----------------------------------------------------------------------===//
// Every rule alone
//===----------------------------------------------------------------------===//

struct Rule {
  const char *name;
  const char *map; // of %x: [6], %w: 6x6, %u: 6, %f: 3; gives %y: [6]
};

class Rules : public testing::TestWithParam<Rule> {};

/// The op on queries and keys, without a normalizer that might hide a factor.
TEST_P(Rules, AgreeWithTheOracle) {
  std::string inputs =
      "tensor<?x?x?x6xf32>, tensor<6x6xf32>, tensor<6xf32>, tensor<3xf32> -> [6]\n";
  std::string text =
      "polyattn.feature_map @phi(%x: [6], %w: 6x6, %u: 6, %f: 3) {\n" +
      std::string(GetParam().map) +
      "\nyield %y : [6]\n}\n"
      "polyattn.attention @a(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,"
      " %v: tensor<?x?x?x5xf32>, %w: tensor<6x6xf32>, %u: tensor<6xf32>, %f: tensor<3xf32>)"
      " -> (o: tensor<?x?x?x5xf32>) {\n%a = apply @phi(%q, %w, %u, %f) : " +
      inputs + "%b = apply @phi(%k, %w, %u, %f) : " + inputs +
      "%values = read %v : tensor<?x?x?x5xf32> -> [5]\n"
      "%o = attend query %a key %b value %values causal normalize <none>"
      " {grouping = #polyattn.grouping<block>} : [6], [6], [5]\n"
      "return %o : [5]\n}\n";
  Derivation derivation;
  ASSERT_TRUE(derivation.parse(text)) << text;
  AttentionOp attention = derivation.attentions()[0];
  ASSERT_TRUE(derivation.differentiate(attention, /*simplify=*/false));
  GradientCall call(attention, {/*batch=*/2, 5, 5, /*heads=*/4, 2});
  expectDerivedGradients(derivation, call);
}

INSTANTIATE_TEST_SUITE_P(
    Differentiate, Rules,
    testing::Values(
        Rule{"project", "%y = project %x, %w, %u : [6], 6x6, 6"},
        Rule{"project_transposed", "%y = project %x, %w, %u {transposed} : [6], 6x6, 6"},
        Rule{"weight_product", "%ww = weight_product %w, %w : 6x6, 6x6\n"
                               "%y = project %x, %ww : [6], 6x6"},
        Rule{"hadamard", "%s = sum %x : [6]\n%p = project %x, %w : [6], 6x6\n"
                         "%y = hadamard %x, %p, %s, %x, %s : [6], [6], [1], [6], [1]"},
        Rule{"add", "%s = squared_norm %x : [6]\n%y = add %x, %s, %x : [6], [1], [6]"},
        Rule{"add_const", "%y = add_const %x {value = 2.0} : [6]"},
        Rule{"scale", "%y = scale %x {factor = -3.0} : [6]"},
        Rule{"select", "%y = select %x {indices = array<i64: 5, 1, 1, 0, 1, 2>} : [6]"},
        Rule{"scatter",
             "%y = scatter %x {indices = array<i64: 5, 1, 1, 0, 1, 2>, width = 6} : [6]"},
        Rule{"concat", "%h = select %x {indices = array<i64: 4, 1, 1>} : [6]\n"
                       "%t = scale %h {factor = 2.0} : [3]\n"
                       "%c = concat %h, %t : [3], [3]\n%y = tanh %c : [3] + [3]"},
        Rule{"tensor", "%h = select %x {indices = array<i64: 4, 1>} : [6]\n"
                       "%t = select %x {indices = array<i64: 0, 1, 3>} : [6]\n"
                       "%c = tensor %h, %t : [2], [3]\n%y = tanh %c : [2] x [3]"},
        Rule{"symmetric_power", "%t = select %x {indices = array<i64: 0, 1, 3>} : [6]\n"
                                "%c = power 2 %t {symmetric} : [3]\n"
                                "%s = scale %c {factor = 0.5} : sym 2 [3]\n"
                                "%y = tanh %s : sym 2 [3]"},
        Rule{"tensor_power", "%t = select %x {indices = array<i64: 0, 3>} : [6]\n"
                             "%c = power 3 %t : [2]\n%s = tanh %c : pow 3 [2]\n"
                             "%y = select %s {indices = array<i64: 0, 1, 2, 3, 5, 7>} : [8]"},
        Rule{"block_power", "%c = power 2 %x {symmetric, block = 3} : [6]\n"
                            "%s = tanh %c : sym 2 block 3 [6]\n"
                            "%y = select %s {indices = array<i64: 0, 4, 10, 13, 20, 26>} : [27]"},
        Rule{"triu", "%t = select %x {indices = array<i64: 0, 1, 3>} : [6]\n"
                     "%p = select %x {indices = array<i64: 5, 1, 2>} : [6]\n"
                     "%y = triu %t, %p {weights = #polyattn.triu_weights<sqrt2>} : [3], [3]"},
        Rule{"triu_plain", "%t = select %x {indices = array<i64: 0, 1, 3>} : [6]\n"
                           "%y = triu %t, %t {weights = #polyattn.triu_weights<none>} : [3], [3]"},
        Rule{"relu", "%y = relu %x : [6]"}, Rule{"abs", "%y = abs %x : [6]"},
        Rule{"sign", "%s = sign %x : [6]\n%y = hadamard %s, %x, %x : [6], [6], [6]"},
        Rule{"log", "%e = elu_plus_one %x : [6]\n%y = log %e : [6]"},
        Rule{"elu_plus_one", "%y = elu_plus_one %x : [6]"}, Rule{"exp", "%y = exp %x : [6]"},
        Rule{"tanh", "%y = tanh %x : [6]"}, Rule{"sin", "%y = sin %x : [6]"},
        Rule{"cos", "%y = cos %x : [6]"}, Rule{"sigmoid", "%y = sigmoid %x : [6]"},
        Rule{"silu", "%y = silu %x : [6]"}, Rule{"softplus", "%y = softplus %x : [6]"},
        Rule{"gelu_erf", "%y = gelu %x {form = #polyattn.gelu_form<erf>} : [6]"},
        Rule{"gelu_tanh", "%y = gelu %x {form = #polyattn.gelu_form<tanh>} : [6]"},
        Rule{"pow", "%y = pow %x {exponent = 3.0} : [6]"},
        Rule{"pow_zero", "%p = pow %x {exponent = 0.0} : [6]\n%y = add %p, %x : [6], [6]"},
        Rule{"pow_root", "%e = exp %x : [6]\n%y = pow %e {exponent = 0.5} : [6]"},
        Rule{"pow_weight", "%e = exp %x : [6]\n%y = pow %e, %u : [6], 6"},
        Rule{"pow_vector", "%e = relu %x : [6]\n%s = sigmoid %x : [6]\n"
                           "%t = add_const %s {value = 1.0} : [6]\n%y = pow %e, %t : [6], [6]"},
        Rule{"clamp_min", "%y = clamp_min %x {value = 0.1} : [6]"},
        Rule{"is_above", "%m = is_above %x {value = 0.1} : [6]\n%y = hadamard %m, %x : [6], [6]"},
        Rule{"add_vec", "%y = add_vec %x, %u : [6], 6"},
        Rule{"mul_vec", "%y = mul_vec %x, %u : [6], 6"},
        Rule{"div_vec", "%y = div_vec %x, %u : [6], 6"},
        Rule{"sum", "%s = sum %x : [6]\n%y = add %x, %s : [6], [1]"},
        Rule{"max", "%m = max %x : [6]\n%y = add %x, %m : [6], [1]"},
        Rule{"first_max", "%m = first_max %x : [6]\n%y = hadamard %m, %x : [6], [6]"},
        Rule{"layer_norm",
             "%y = layer_norm %x, %u, %u {eps = 1.0e-2, eps_place = #polyattn.eps_place<inside>}"
             " : [6], 6, 6"},
        Rule{"layer_norm_outside",
             "%y = layer_norm %x, %u {eps = 1.0e-2, eps_place = #polyattn.eps_place<outside>}"
             " : [6], 6"},
        Rule{"layer_norm_plain",
             "%y = layer_norm %x {eps = 0.0, eps_place = #polyattn.eps_place<inside>} : [6]"},
        Rule{"l2_norm", "%y = l2_norm %x {eps = 1.0e-12} : [6]"},
        Rule{"l2_norm_floor", "%y = l2_norm %x {eps = 100.0} : [6]"},
        Rule{"l2_rescale", "%p = project %x, %w : [6], 6x6\n%y = l2_rescale %x, %p : [6], [6]"},
        Rule{"l2_rescale_zero",
             "%z = constant {value = 0.0, width = 6}\n%p = hadamard %x, %z : [6], [6]\n"
             "%r = l2_rescale %p, %x : [6], [6]\n%y = add %r, %x : [6], [6]"},
        Rule{"sum_norm", "%e = exp %x : [6]\n%y = sum_norm %e {eps = 1.0e-2} : [6]"},
        Rule{"softmax", "%y = softmax %x {groups = 1} : [6]"},
        Rule{"softmax_groups", "%y = softmax %x {groups = 3} : [6]"},
        Rule{"rope", "%y = rope %x, %f {layout = #polyattn.rope_layout<half>, dims = 6,"
                     " offset = 1.0, scale = 0.5} : [6], 3"},
        Rule{"rope_interleaved",
             "%y = rope %x, %f {layout = #polyattn.rope_layout<interleaved>, dims = 6,"
             " offset = 0.0, scale = 1.0} : [6], 3"},
        Rule{"rope_deinterleave",
             "%y = rope %x, %f {layout = #polyattn.rope_layout<deinterleave>, dims = 6,"
             " offset = 0.0, scale = 1.0} : [6], 3"},
        Rule{"rope_inverse",
             "%y = rope %x, %f {layout = #polyattn.rope_layout<deinterleave>, dims = 6, inverse,"
             " offset = 0.0, scale = 1.0} : [6], 3"}),
    [](const testing::TestParamInfo<Rule> &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Attends
//===----------------------------------------------------------------------===//

struct Case {
  const char *name;
  const char *arguments; // more of the attention's
  const char *operands;  // of the attend, after its value
  const char *attend;    // from the mask on, up to the types
  const char *types;     // of the operands
  const char *results;   // more of the attention's
  const char *returned;  // what they are
  CallSizes sizes;
};

class Attends : public testing::TestWithParam<Case> {};

constexpr CallSizes kGrouped = {/*batch=*/2, 7, 7, /*heads=*/4, 2};
constexpr CallSizes kEqual = {/*batch=*/2, 7, 7, /*heads=*/2, 2};
constexpr CallSizes kUnequal = {/*batch=*/2, 5, 8, /*heads=*/4, 2};

TEST_P(Attends, AgreeWithTheOracle) {
  const Case &c = GetParam();
  std::string state = c.returned[0] ? ", " + std::string(c.returned) : "";
  std::string text =
      "polyattn.attention @a(%q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>,"
      " %v: tensor<?x?x?x2xf32>" +
      std::string(c.arguments) + ") -> (o: tensor<?x?x?x2xf32>" + c.results +
      ") {\n%x = read %q : tensor<?x?x?x3xf32> -> [3]\n%y = read %k : tensor<?x?x?x3xf32> -> [3]\n"
      "%one = constant {value = 1.5, width = 1}\n"
      "%a2 = power 2 %x {symmetric} : [3]\n%b2 = power 2 %y {symmetric} : [3]\n"
      "%as = scale %a2 {factor = 0.5} : sym 2 [3]\n"
      "%a = concat %one, %x, %as : [1], [3], sym 2 [3]\n"
      "%b = concat %one, %y, %b2 : [1], [3], sym 2 [3]\n"
      "%c = tensor %x, %x : [3], [3]\n%d = tensor %y, %y : [3], [3]\n"
      "%values = read %v : tensor<?x?x?x2xf32> -> [2]\n";
  text += "%o" +
          std::string(c.returned[0] ? (StringRef(c.returned).contains("#2") ? ":3" : ":2") : "") +
          " = attend query %a key %b value %values " + c.operands + " " + c.attend +
          " : [1] + [3] + sym 2 [3], [1] + [3] + sym 2 [3], [2]" + c.types + "\nreturn %o" +
          (c.returned[0] ? "#0" : "") + state + " : [2]" +
          (StringRef(c.results).contains("state") ? ", tensor<?x?x10x2xf32>" : "") +
          (StringRef(c.results).contains("norm") ? ", tensor<?x?x10xf32>" : "") + "\n}\n";
  Derivation derivation;
  ASSERT_TRUE(derivation.parse(text)) << text;
  AttentionOp attention = derivation.attentions()[0];
  ASSERT_TRUE(derivation.differentiate(attention, /*simplify=*/false));
  GradientCall call(attention, c.sizes);
  expectDerivedGradients(derivation, call);
}

const char *kBlock = "causal normalize <none> {grouping = #polyattn.grouping<block>}";

INSTANTIATE_TEST_SUITE_P(
    Differentiate, Attends,
    testing::Values(
        Case{"causal", "", "", kBlock, "", "", "", kGrouped},
        Case{"interleaved", "", "",
             "causal normalize <none> {score_scale = 0.3,"
             " grouping = #polyattn.grouping<interleaved>}",
             "", "", "", kGrouped},
        Case{"full", "", "", "full normalize <none> {grouping = #polyattn.grouping<block>}", "", "",
             "", kUnequal},
        Case{"mean", "", "", "causal normalize <none, reduce = mean>", "", "", "", kEqual},
        Case{"sum", "", "",
             "full normalize <sum, eps = 0.1, reduce = mean> {signed_scores,"
             " grouping = #polyattn.grouping<block>}",
             "", "", "", kUnequal},
        Case{"bias", "", "", "causal normalize <bias, bias = 1.0> {signed_scores}", "", "", "",
             kEqual},
        Case{"floor", "", "", "causal normalize <sum, eps = 0.0, min_denom = 5.0> {signed_scores}",
             "", "", "", kEqual},
        Case{"guard", "", "",
             "causal normalize <sum, eps = 0.0, guard_below = 3.0, guard_add = 4.0>"
             " {signed_scores}",
             "", "", "", kEqual},
        Case{"local", "", "local %c, %d",
             "causal normalize <sum, eps = 0.1> {signed_scores, block = 3,"
             " grouping = #polyattn.grouping<block>}",
             ", [3] x [3], [3] x [3]", "", "", kGrouped},
        Case{"decay_of_tokens", ", %g: tensor<?x?x?xf32>", "decay %g", kBlock,
             ", tensor<?x?x?xf32>", "", "", kGrouped},
        Case{"decay_of_heads", ", %g: tensor<?xf32>", "decay %g",
             "causal normalize <sum, eps = 0.1> {signed_scores,"
             " gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}",
             ", tensor<?xf32>", "", "", kGrouped},
        Case{"decay_factors", "", "",
             "causal normalize <none> {decay_factors = array<f64: 0.5, 0.9>}", "", "", "", kEqual},
        Case{"states", ", %g: tensor<?x?x?xf32>, %s: tensor<?x?x10x2xf32>, %z: tensor<?x?x10xf32>",
             "decay %g initial %s initial_normalizer %z",
             "causal normalize <sum, eps = 0.1> {signed_scores, final_state,"
             " grouping = #polyattn.grouping<block>}",
             ", tensor<?x?x?xf32>, tensor<?x?x10x2xf32>, tensor<?x?x10xf32>",
             ", state: tensor<?x?x10x2xf32>, norm: tensor<?x?x10xf32>", "%o#1, %o#2", kGrouped},
        Case{"states_of_queries", ", %g: tensor<?x?x?xf32>, %s: tensor<?x?x10x2xf32>",
             "decay %g initial %s",
             "causal normalize <none> {final_state, gate_heads = #polyattn.gate_heads<q>,"
             " grouping = #polyattn.grouping<block>}",
             ", tensor<?x?x?xf32>, tensor<?x?x10x2xf32>", ", state: tensor<?x?x10x2xf32>", "%o#1",
             kGrouped}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// The library of specs
//===----------------------------------------------------------------------===//

class DifferentiatedSpecs : public testing::TestWithParam<std::string> {};

TEST_P(DifferentiatedSpecs, AgreeWithTheOracle) {
  Derivation derivation;
  ASSERT_TRUE(derivation.parseFile(specPath(GetParam())));
  for (AttentionOp attention : derivation.attentions()) {
    if (!hasGradient(attention))
      continue;
    SCOPED_TRACE(attention.getSymName().str());
    ASSERT_TRUE(derivation.differentiate(attention, /*simplify=*/true));
    GradientCall call(attention, smallSizes(attention));
    expectDerivedGradients(derivation, call, /*differences=*/false);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, DifferentiatedSpecs, testing::ValuesIn(specNames()),
                         specTestName);

} // namespace
