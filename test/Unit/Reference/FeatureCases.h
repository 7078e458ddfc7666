//===- FeatureCases.h - a map for each feature op ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_REFERENCE_FEATURECASES_H
#define POLYATTN_TEST_UNIT_REFERENCE_FEATURECASES_H

namespace polyattn {

/// The body of a map of %x, %z: [6], %w: 6x4, %b: 4, %g, %h: 6, %f: 2; what it gives, and how
/// many features that has, 0 where it has scores only.
struct FeatureCase {
  const char *name, *body, *structure;
  int features;
};

inline constexpr FeatureCase kFeatureCases[] = {
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
    {"tensor_power", "%y = power 3 %x : [6]", "pow 3 [6]", 216},
    {"symmetric_power", "%y = power 3 %x {symmetric} : [6]", "sym 3 [6]", 56},
    {"power_of_blocks", "%y = power 2 %x {symmetric, block = 2} : [6]", "sym 2 block 2 [6]", 24},
    {"relative",
     "%r = relative %b {beyond = last, log} : 4\n%y = tensor %r, %x, %z : [1], [6], [6]",
     "[1] x [6] x [6]", 0},
    {"exp_score",
     "%l = scale %x {factor = 0.25} : [6]\n%e = exp_score %l : [6]\n%y = tensor %e, %z : exp [6], "
     "[6]",
     "exp [6] x [6]", 0},
    {"odd_power_of_magnitude", "%y = power 3 %x {abs} : [6]", "pow 3 [6]", 0},
    {"even_power_of_magnitude", "%y = power 2 %x {symmetric, abs} : [6]", "sym 2 [6]", 21},
    {"power_of_product", "%p = tensor %x, %z : [6], [6]\n%y = power 2 %p : [6] x [6]",
     "pow 2 ([6] x [6])", 1296},
    {"triu", "%y = triu %x, %z {weights = #polyattn.triu_weights<sqrt2>} : [6], [6]", "[21]", 21},
    {"triu_unweighted", "%y = triu %x, %z {weights = #polyattn.triu_weights<none>} : [6], [6]",
     "[21]", 21},
    {"concat",
     "%one = constant {value = 0.7, width = 1}\n%xx = power 2 %x : [6]\n"
     "%y = concat %one, %z, %xx : [1], [6], pow 2 [6]",
     "[1] + [6] + pow 2 [6]", 43},
    {"scale", "%y = scale %x {factor = -0.7} : [6]", "[6]", 6},
    {"scale_of_power", "%p = power 2 %x : [6]\n%y = scale %p {factor = 0.7} : pow 2 [6]",
     "pow 2 [6]", 36},
    {"structure_as_numbers", "%p = power 2 %x {symmetric} : [6]\n%y = exp %p : sym 2 [6]", "[21]",
     21},
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

} // namespace polyattn

#endif // POLYATTN_TEST_UNIT_REFERENCE_FEATURECASES_H
