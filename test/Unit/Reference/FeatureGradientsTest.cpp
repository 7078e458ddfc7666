//===- FeatureGradientsTest.cpp - gradients of each feature op ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientChecks.h"
#include "dialects/PolyAttn/FeatureOpDispatch.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// The body of a map of %x, %z: [6], %w: 6x4, %b: 4, %g, %h: 6, %f: 2; what it gives, and how
/// many features that has, 0 where it has scores only.
struct Case {
  const char *name, *body, *structure;
  int features;
};

const Case kCases[] = {
    {"project", "%y = project %x, %w, %b : [6], 6x4, 4", "[4]", 4},
    {"weight_product", "%m = weight_product %w, %c : 6x4, 4x3\n%y = project %x, %m : [6], 6x3",
     "[3]", 3},
    {"hadamard",
     "%s = select %z {indices = array<i64: 2>} : [6]\n"
     "%y = hadamard %x, %z, %s, %x : [6], [6], [1], [6]",
     "[6]", 6},
    {"add", "%s = select %z {indices = array<i64: 2>} : [6]\n%y = add %x, %z, %s : [6], [6], [1]",
     "[6]", 6},
    {"tensor", "%p = project %z, %w : [6], 6x4\n%y = tensor %x, %p, %z : [6], [4], [6]",
     "[6] x [4] x [6]", 144},
    {"tensor_power", "%y = power %x {degree = 3} : [6]", "pow 3 [6]", 216},
    {"symmetric_power", "%y = power %x {degree = 3, symmetric} : [6]", "sym 3 [6]", 56},
    {"power_of_blocks", "%y = power %x {degree = 2, symmetric, block = 2} : [6]",
     "sym 2 block 2 [6]", 24},
    {"odd_power_of_magnitude", "%y = power %x {degree = 3, abs} : [6]", "pow 3 [6]", 0},
    {"even_power_of_magnitude", "%y = power %x {degree = 2, symmetric, abs} : [6]", "sym 2 [6]",
     21},
    {"power_of_product", "%p = tensor %x, %z : [6], [6]\n%y = power %p {degree = 2} : [6] x [6]",
     "pow 2 ([6] x [6])", 1296},
    {"triu", "%y = triu %x, %z {weights = #polyattn.triu_weights<sqrt2>} : [6], [6]", "[21]", 21},
    {"triu_unweighted", "%y = triu %x, %z {weights = #polyattn.triu_weights<none>} : [6], [6]",
     "[21]", 21},
    {"concat",
     "%one = constant {value = 0.7, width = 1}\n%xx = power %x {degree = 2} : [6]\n"
     "%y = concat %one, %z, %xx : [1], [6], pow 2 [6]",
     "[1] + [6] + pow 2 [6]", 43},
    {"scale", "%y = scale %x {factor = -0.7} : [6]", "[6]", 6},
    {"scale_of_power", "%p = power %x {degree = 2} : [6]\n%y = scale %p {factor = 0.7} : pow 2 [6]",
     "pow 2 [6]", 36},
    {"structure_as_numbers", "%p = power %x {degree = 2, symmetric} : [6]\n%y = exp %p : sym 2 [6]",
     "[21]", 21},
    {"select", "%y = select %x {indices = array<i64: 5, 0, 2, 0>} : [6]", "[4]", 4},
    {"relu", "%y = relu %x : [6]", "[6]", 6},
    {"abs", "%y = abs %x : [6]", "[6]", 6},
    {"elu_plus_one", "%y = elu_plus_one %x : [6]", "[6]", 6},
    {"exp", "%y = exp %x : [6]", "[6]", 6},
    {"tanh", "%y = tanh %x : [6]", "[6]", 6},
    {"sin", "%y = sin %x : [6]", "[6]", 6},
    {"cos", "%y = cos %x : [6]", "[6]", 6},
    {"sigmoid", "%y = sigmoid %x : [6]", "[6]", 6},
    {"silu", "%y = silu %x : [6]", "[6]", 6},
    {"softplus", "%y = softplus %x : [6]", "[6]", 6},
    {"gelu_tanh", "%y = gelu %x {form = #polyattn.gelu_form<tanh>} : [6]", "[6]", 6},
    {"gelu_erf", "%y = gelu %x {form = #polyattn.gelu_form<erf>} : [6]", "[6]", 6},
    {"pow", "%y = pow %x {exponent = 3.0} : [6]", "[6]", 6},
    {"pow_by_weights", "%e = exp %x : [6]\n%y = pow %e, %g : [6], 6", "[6]", 6},
    {"pow_by_vectors", "%e = exp %x : [6]\n%y = pow %e, %z : [6], [6]", "[6]", 6},
    {"add_const", "%y = add_const %x {value = 0.3} : [6]", "[6]", 6},
    {"clamp_min", "%y = clamp_min %x {value = 0.3} : [6]", "[6]", 6},
    {"add_vec", "%y = add_vec %x, %g : [6], 6", "[6]", 6},
    {"mul_vec", "%y = mul_vec %x, %g : [6], 6", "[6]", 6},
    {"div_vec", "%y = div_vec %x, %g : [6], 6", "[6]", 6},
    {"squared_norm", "%s = squared_norm %x : [6]\n%y = hadamard %s, %z : [1], [6]", "[6]", 6},
    {"max", "%s = max %x : [6]\n%y = hadamard %s, %z : [1], [6]", "[6]", 6},
    {"layer_norm",
     "%y = layer_norm %x, %g, %h {eps = 0.1, eps_place = #polyattn.eps_place<inside>}"
     " : [6], 6, 6",
     "[6]", 6},
    {"layer_norm_eps_outside",
     "%y = layer_norm %x {eps = 0.1, eps_place = #polyattn.eps_place<outside>} : [6]", "[6]", 6},
    {"l2_norm", "%y = l2_norm %x {eps = 1.0e-3} : [6]", "[6]", 6},
    {"l2_norm_at_its_floor", "%y = l2_norm %x {eps = 30.0} : [6]", "[6]", 6},
    {"l2_rescale", "%y = l2_rescale %x, %z : [6], [6]", "[6]", 6},
    {"sum_norm", "%e = exp %x : [6]\n%y = sum_norm %e {eps = 0.1} : [6]", "[6]", 6},
    {"softmax", "%y = softmax %x {groups = 2} : [6]", "[6]", 6},
    {"project_transposed",
     "%p = project %z, %w : [6], 6x4\n"
     "%y = project %p, %w {transposed} : [4], 6x4",
     "[6]", 6},
    {"scatter", "%y = scatter %x {indices = array<i64: 1, 0, 3, 1, 4, 1>, width = 5} : [6]", "[5]",
     5},
    {"sum", "%s = sum %x : [6]\n%y = hadamard %s, %z : [1], [6]", "[6]", 6},
    {"first_max", "%s = first_max %x : [6]\n%y = hadamard %s, %z : [6], [6]", "[6]", 6},
    {"is_above", "%s = is_above %x {value = 0.25} : [6]\n%y = hadamard %s, %z : [6], [6]", "[6]",
     6},
    {"sign", "%s = sign %x : [6]\n%y = hadamard %s, %z : [6], [6]", "[6]", 6},
    {"log", "%e = softplus %x : [6]\n%y = log %e : [6]", "[6]", 6},
    {"gelu_slope", "%y = gelu_slope %x {form = #polyattn.gelu_form<tanh>} : [6]", "[6]", 6},
    {"gelu_slope_erf", "%y = gelu_slope %x {form = #polyattn.gelu_form<erf>} : [6]", "[6]", 6},
    {"rope_back",
     "%y = rope %x, %f {layout = #polyattn.rope_layout<deinterleave>, dims = 4, inverse, offset = "
     "0.5, scale = 1.5} : [6], 2",
     "[6]", 6},
    {"rope",
     "%y = rope %x, %f {layout = #polyattn.rope_layout<half>, dims = 4, offset = 0.5,"
     " scale = 1.5} : [6], 2",
     "[6]", 6},
    {"rope_interleaved",
     "%y = rope %x, %f {layout = #polyattn.rope_layout<interleaved>, dims = 4, offset = 0.0,"
     " scale = 1.0} : [6], 2",
     "[6]", 6},
    {"rope_deinterleave",
     "%y = rope %x, %f {layout = #polyattn.rope_layout<deinterleave>, dims = 4, offset = 0.0,"
     " scale = 1.0} : [6], 2",
     "[6]", 6},
};

/// The map in the scores of one attend, of which its features are the values of another.
constexpr const char *kSpec = R"mlir(
  polyattn.feature_map @phi(%x: [6], %z: [6], %w: 6x4, %c: 4x3, %b: 4, %g: 6, %h: 6, %f: 2) {
    BODY
    yield %y : STRUCTURE
  }
  polyattn.attention @a(%q: tensor<?x?x?x6xf32>, %q2: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                        %k2: tensor<?x?x?x6xf32>, %v: tensor<?x?x?x2xf32>, %w: tensor<6x4xf32>,
                        %c: tensor<4x3xf32>, %b: tensor<4xf32>, %g: tensor<6xf32>,
                        %h: tensor<6xf32>, %f: tensor<2xf32>)
      -> (o: tensor<?x?x?x2xf32>, s: tensor<?x?x?x1xf32>) {
    %a = apply @phi(%q, %q2, %w, %c, %b, %g, %h, %f) : TENSORS -> STRUCTURE
    %d = apply @phi(%k, %k2, %w, %c, %b, %g, %h, %f) : TENSORS -> STRUCTURE
    %r = read %q : tensor<?x?x?x6xf32> -> [6]
    %t = read %k : tensor<?x?x?x6xf32> -> [6]
    %values = read %v : tensor<?x?x?x2xf32> -> [2]
    %o = attend query %a key %d value %values full normalize <none> : STRUCTURE, STRUCTURE, [2]
    %u = attend query %r key %t value VALUE full normalize <none> : [6], [6], FEATURES
    %s = squared_norm %u : [WIDTH]
    return %o, %s : [2], [1]
  })mlir";

std::string specOf(const Case &c) {
  std::string spec = kSpec;
  auto replace = [&](const std::string &what, const std::string &text) {
    for (size_t at; (at = spec.find(what)) != std::string::npos;)
      spec.replace(at, what.size(), text);
  };
  replace("BODY", c.body);
  replace("TENSORS", "tensor<?x?x?x6xf32>, tensor<?x?x?x6xf32>, tensor<6x4xf32>, tensor<4x3xf32>, "
                     "tensor<4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<2xf32>");
  replace("VALUE", c.features ? "%d" : "%values");
  replace("FEATURES", c.features ? "STRUCTURE" : "[2]");
  replace("STRUCTURE", c.structure);
  replace("WIDTH", std::to_string(c.features ? c.features : 2));
  return spec;
}

class FeatureGradientsTest : public testing::TestWithParam<Case> {};

/// Through scores, and through features, which are values of another attend.
TEST_P(FeatureGradientsTest, TapeAgreesWithDifferences) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(specOf(GetParam()), &context);
  ASSERT_TRUE(module) << specOf(GetParam());
  GradientCall call(*module->getOps<AttentionOp>().begin(), {1, 3, 3, 2, 2});
  expectGradientsAreDifferences(call, /*elements=*/4, /*step=*/1e-4);
}

INSTANTIATE_TEST_SUITE_P(Ops, FeatureGradientsTest, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

template <typename... Ops> std::vector<std::string> namesOf(polyattn::detail::OpList<Ops...>) {
  std::vector<std::string> names;
  auto add = [&](StringRef name, bool isFeatureOp) {
    if (isFeatureOp)
      names.push_back(name.substr(name.find('.') + 1).str());
  };
  (add(Ops::getOperationName(), Ops::template hasTrait<FeatureOpInterface::Trait>()), ...);
  return names;
}

TEST(FeatureGradients, EveryFeatureOpHasACase) {
  for (const std::string &name : namesOf(polyattn::detail::DialectOps()))
    EXPECT_TRUE(llvm::any_of(kCases, [&](const Case &c) {
      return StringRef(c.body).contains("= " + name + " ");
    })) << name;
}

} // namespace
