//===- FeatureOps.td - the algebra of feature vectors ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op works on one vector per batch, position and head. Result types are
// inferred; operand types are written in the short form, `[64]` for a vector and
// `64x256` for a weight.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURE_OPS
#define POLYATTN_FEATURE_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

//===----------------------------------------------------------------------===//
// Linear maps and products
//===----------------------------------------------------------------------===//

def PolyAttn_ProjectOp : PolyAttn_FeatureOp<"project", 1, 1, 2> {
  let summary = "W^T x, plus a bias where one is given";
  let description = [{
    With `transposed` it is W x, the gradient of a projection's input: the weight lies in memory
    as it is.

    C1: the weight is a matrix whose rows (columns where it is transposed) are as many as the input
        is wide.
    C2: the bias is a vector as wide as the result.

    Example: `%a = polyattn.project %x, %w : [64], 64x256`

    Example: `%dx = polyattn.project %da, %w {transposed} : [256], 64x256`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_WeightType:$weight,
                       Optional<PolyAttn_WeightType>:$bias, UnitAttr:$transposed);
}

def PolyAttn_WeightProductOp : PolyAttn_ProgramOp<"weight_product", 0, 2> {
  let summary = "W1 W2, the weight of a projection of a projection";
  let description = [{
    W2^T (W1^T x) = (W1 W2)^T x. The product belongs to a head where one of the weights does,
    else to all heads; it is computed once for each, not once for each position.

    C1: both weights are matrices.
    C2: the second weight has as many rows as the first has columns.

    Example: `%w = polyattn.weight_product %w1, %w2 : 64x32, 32x48`
  }];
  let arguments = (ins PolyAttn_WeightType:$lhs, PolyAttn_WeightType:$rhs);
  let results = (outs PolyAttn_WeightType:$result);
}

def PolyAttn_HadamardOp : PolyAttn_ElementOp<"hadamard", -1, 0, 0, "false", [Commutative]> {
  let summary = "element-wise product a * b * ...";
  let description = [{
    C1: operands have one width; an operand of width 1 is a factor for all elements.

    Example: `%y = polyattn.hadamard %a, %b : [256], [256]`
  }];
  let arguments = (ins Variadic<PolyAttn_FeatureType>:$inputs);
  let element = [{
    Number product = 1;
    for (const Number &a : operands)
      product *= a;
    return product;
  }];
  let hasFolder = 1;
}

def PolyAttn_AddOp : PolyAttn_ElementOp<"add", -1, 0, 0, "false", [Commutative]> {
  let summary = "element-wise sum a + b + ...";
  let description = [{
    C1: operands have one width; an operand of width 1 is added to all elements.

    Example: `%y = polyattn.add %a, %b : [256], [256]`
  }];
  let arguments = (ins Variadic<PolyAttn_FeatureType>:$inputs);
  let element = [{
    Number sum = 0;
    for (const Number &a : operands)
      sum += a;
    return sum;
  }];
  let hasFolder = 1;
}

def PolyAttn_TensorOp : PolyAttn_FeatureOp<"tensor", -1, 0, 0, "false", [CombinesScores]> {
  let summary = "tensor (Kronecker) product a (x) b (x) ..., the last index fastest";
  let description = [{
    The score is the product of the operands' scores; features are never needed for it.

    C1: there is at least one operand.
    C2: the result's structure has a size that a formula may have.

    Example: `%y = polyattn.tensor %a, %b : [16], [24]`
  }];
  let arguments = (ins Variadic<PolyAttn_FeatureType>:$inputs);
  let hasFolder = 1;
}

def PolyAttn_PowerOp : PolyAttn_FeatureOp<"power", 1, 0, 0, "false", [CombinesScores]> {
  let summary = "tensor power a^(x)p, or the symmetric power with the same scores";
  let description = [{
    All p-fold products (`tensor`, TPOW), the sorted monomials weighted by the root of
    their multinomial (`symmetric`), or sorted tuples of whole blocks (`symmetric` with
    `block`, TSPOW). The score is <a, a'>^p for each; with `abs` it is |<a, a'>|^p,
    which is another function where p is odd and then has no features.

    C1: the degree is between 1 and 64.
    C2: a block is given with `symmetric` only and divides the operand's width.
    C3: the result's structure has a size that a formula may have.

    Example: `%y = polyattn.power %x {degree = 2, symmetric} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, I64Attr:$degree, UnitAttr:$symmetric,
                       OptionalAttr<I64Attr>:$block, UnitAttr:$abs);
}

def PolyAttn_TriuOp : PolyAttn_FeatureOp<"triu", 2> {
  let summary = "products a_i b_j for i <= j";
  let description = [{
    The upper triangle of the outer product, off-diagonal entries weighted by 1 (`none`)
    or by the root of 2 (`sqrt2`). No product form.

    C1: operands have one width.

    Example: `%y = polyattn.triu %a, %b {weights = #polyattn.triu_weights<none>} : [16], [16]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$lhs, PolyAttn_FeatureType:$rhs,
                       PolyAttn_TriuWeightsAttr:$weights);
}

def PolyAttn_ConcatOp : PolyAttn_FeatureOp<"concat", -1, 0, 0, "false", [CombinesScores]> {
  let summary = "concatenation a (+) b (+) ...";
  let description = [{
    The score is the sum of the operands' scores.

    C1: there is at least one operand.
    C2: the result's structure has a size that a formula may have.

    Example: `%y = polyattn.concat %one, %x, %xx : [1], [16], sym 2 [16]`
  }];
  let arguments = (ins Variadic<PolyAttn_FeatureType>:$inputs);
  let hasFolder = 1;
}

def PolyAttn_ScaleOp : PolyAttn_ElementOp<"scale", 1, 0, 0, "false", [CombinesScores]> {
  let summary = "c a for a number c; the structure stays";
  let description = [{
    C1: the factor is finite.

    Example: `%y = polyattn.scale %x {factor = 0.5} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, F64Attr:$factor);
  let element = "return operands[0] * getFactor().convertToDouble();";
  let hasFolder = 1;
}

def PolyAttn_ConstantOp : PolyAttn_FeatureOp<"constant", 0> {
  let summary = "the same number in every element";
  let description = [{
    C1: the width is at least 1.
    C2: the value is finite.

    Example: `%one = polyattn.constant {value = 1.0, width = 1}`
  }];
  let arguments = (ins F64Attr:$value, I64Attr:$width);
}

def PolyAttn_SelectOp : PolyAttn_FeatureOp<"select"> {
  let summary = "the elements at the given indices, in their order";
  let description = [{
    Coordinate selection (FPA, Table 1), slices and rolls (DPFP) alike.

    C1: there is at least one index, each within the operand's width.

    Example: `%y = polyattn.select %x {indices = array<i64: 0, 2, 4>} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, DenseI64ArrayAttr:$indices);
  let hasFolder = 1;
}

def PolyAttn_ScatterOp : PolyAttn_FeatureOp<"scatter"> {
  let summary = "the operand's elements added up at the given indices, zero elsewhere";
  let description = [{
    y_j is the sum of the x_i with indices[i] = j: what `select` is the other way round, and the
    gradient of it.

    C1: the width is at least 1.
    C2: there are as many indices as the operand is wide, each within `width`.

    Example: `%y = polyattn.scatter %x {indices = array<i64: 0, 2, 2>, width = 64} : [3]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, DenseI64ArrayAttr:$indices, I64Attr:$width);
}

//===----------------------------------------------------------------------===//
// Element-wise functions
//===----------------------------------------------------------------------===//

def PolyAttn_ReluOp : PolyAttn_ElementwiseOp<"relu", "max(a, 0)"> {
  let element = "return operands[0] > 0 || isnan(operands[0]) ? operands[0] : Number(0);";
  let hasFolder = 1;
}
def PolyAttn_AbsOp : PolyAttn_ElementwiseOp<"abs", "|a|"> {
  let element = "return fabs(operands[0]);";
  let hasFolder = 1;
}
def PolyAttn_SignOp : PolyAttn_ElementwiseOp<"sign", "1 above 0, -1 below, 0 at 0"> {
  let element = [{
    if (isnan(operands[0]))
      return operands[0];
    return operands[0] > 0 ? 1 : operands[0] < 0 ? -1 : 0;
  }];
}
def PolyAttn_LogOp : PolyAttn_ElementwiseOp<"log", "log(a)"> {
  let element = "return log(operands[0]);";
}
def PolyAttn_EluPlusOneOp : PolyAttn_FunctionOp<"elu_plus_one", "exp(min(a, 0)) + max(a, 0)",
    [{a > 0 ? a + 1 : exp(a)}],
    [{g.mul({dy, g.sub(y, g.create<ReluOp>(x))})}], nonNegative = true>;
def PolyAttn_ExpOp : PolyAttn_FunctionOp<"exp", "exp(a)", [{exp(a)}], [{g.mul({dy, y})}],
    nonNegative = true>;
def PolyAttn_TanhOp : PolyAttn_FunctionOp<"tanh", "tanh(a)", [{tanh(a)}],
    [{g.mul({dy, g.oneMinus(g.mul({y, y}))})}]>;
def PolyAttn_SinOp : PolyAttn_FunctionOp<"sin", "sin(a)", [{sin(a)}],
    [{g.mul({dy, g.create<CosOp>(x)})}]>;
def PolyAttn_CosOp : PolyAttn_FunctionOp<"cos", "cos(a)", [{cos(a)}],
    [{g.scale(g.mul({dy, g.create<SinOp>(x)}), -1)}]>;
def PolyAttn_SigmoidOp : PolyAttn_FunctionOp<"sigmoid", "1 / (1 + exp(-a))",
    [{1 / (1 + exp(-a))}], [{g.mul({dy, y, g.oneMinus(y)})}], nonNegative = true>;
// s + y (1 - s) with s = sigmoid(a)
def PolyAttn_SiluOp : PolyAttn_FunctionOp<"silu", "a / (1 + exp(-a))",
    [{a / (1 + exp(-a))}], [{
        g.mul({dy, g.add({g.create<SigmoidOp>(x),
                          g.mul({y, g.oneMinus(g.create<SigmoidOp>(x))})})})}]>;
def PolyAttn_SoftplusOp : PolyAttn_FunctionOp<"softplus", "log(1 + exp(a))",
    [{a > 0 ? a + log1p(exp(-a)) : log1p(exp(a))}],
    [{g.mul({dy, g.create<SigmoidOp>(x)})}], nonNegative = true>;

// 1 + erf and 1 + tanh would cancel where a is far below 0.
def PolyAttn_GeluOp : PolyAttn_FunctionOp<"gelu", "gelu(a), by tanh or by erf", [{
        getForm() == GeluForm::Erf
            ? 0.5 * a * erfc(rounded(-a / sqrt(2.0)))
            : a / (1 + exp(rounded(-2 * sqrt(2 / M_PI) * (a + 0.044715 * a * a * a))))}], [{
        g.mul({dy, g.create<GeluSlopeOp>(x, getForm())})}]> {
  let description = [{
    Example: `%y = polyattn.gelu %x {form = #polyattn.gelu_form<tanh>} : [256]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_GeluFormAttr:$form);
}

// a s with the sigmoid s of u = c (a + 0.044715 a^3) has the slope s + a s (1 - s) u'.
def PolyAttn_GeluSlopeOp : PolyAttn_FunctionOp<"gelu_slope", "the derivative of gelu(a)", "a", [{
        g.refuse(*this, "has no derivative: second derivatives are not supported")}]> {
  let description = [{
    Example: `%y = polyattn.gelu_slope %x {form = #polyattn.gelu_form<tanh>} : [256]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_GeluFormAttr:$form);
  let element = [{
    const Number &a = operands[0];
    if (getForm() == GeluForm::Erf)
      return 0.5 * erfc(-a / sqrt(2.0)) + a * exp(-a * a / 2) / sqrt(2 * M_PI);
    double c = 2 * sqrt(2 / M_PI);
    Number s = 1 / (1 + exp(-c * (a + 0.044715 * a * a * a)));
    return s + a * s * (1 - s) * c * (1 + 3 * 0.044715 * a * a);
  }];
}

def PolyAttn_PowOp : PolyAttn_ElementOp<"pow", 1, 0, 1, "true"> {
  let firstWeight = "Gain";
  let summary = "a^e for a number e, or an exponent per element";
  let description = [{
    Exponents per element are a weight, or a vector that the map computes (PolaFormer's
    1 + 4 sigmoid(w)). No product form: the score is evaluated from the features.

    C1: exactly one of the `exponent` attribute and the exponent operand is given.
    C2: the exponent operand is a vector as wide as the input.
    C3: an `exponent` is finite.

    Example: `%y = polyattn.pow %x {exponent = 2.0} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input,
                       Optional<AnyTypeOf<[PolyAttn_FeatureType, PolyAttn_WeightType]>>:$exponents,
                       OptionalAttr<F64Attr>:$exponent);
  let element = [{
    return getExponent() ? pow(operands[0], getExponent()->convertToDouble())
                         : pow(operands[0], operands[1]);
  }];
  let hasFolder = 1;
}

def PolyAttn_AddConstOp : PolyAttn_ElementwiseOp<"add_const", "a + c for a number c"> {
  let description = [{
    C1: the value is finite.

    Example: `%y = polyattn.add_const %x {value = 1.0e-3} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, F64Attr:$value);
  let element = "return operands[0] + getValue().convertToDouble();";
  let hasFolder = 1;
}

def PolyAttn_ClampMinOp : PolyAttn_ElementwiseOp<"clamp_min", "max(a, c) for a number c"> {
  let description = [{
    C1: the value is finite.

    Example: `%y = polyattn.clamp_min %x {value = 1.0e-6} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, F64Attr:$value);
  let element = [{
    double floor = getValue().convertToDouble();
    return operands[0] > floor || isnan(operands[0]) ? operands[0] : Number(floor);
  }];
  let hasFolder = 1;
}

def PolyAttn_IsAboveOp : PolyAttn_ElementwiseOp<"is_above", "1 where a > c for a number c, else 0"> {
  let description = [{
    C1: the value is finite.

    Example: `%y = polyattn.is_above %x {value = 0.0} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, F64Attr:$value);
  let element = "return operands[0] > getValue().convertToDouble() ? 1 : 0;";
}

class PolyAttn_VectorWeightOp<string mnemonic, string formula, string meaning>
    : PolyAttn_ElementOp<mnemonic, 1, 1> {
  let summary = formula;
  let description = "C1: the weight is a vector as wide as the input.\n\n"
                    "Example: `%y = polyattn." # mnemonic # " %x, %w : [64], 64`";
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_WeightType:$weight);
  let element = "return operands[0] " # meaning # " operands[1];";
}
def PolyAttn_AddVecOp : PolyAttn_VectorWeightOp<"add_vec", "a + w for a weight vector w", "+">;
let firstWeight = "Gain" in {
def PolyAttn_MulVecOp : PolyAttn_VectorWeightOp<"mul_vec", "a * w for a weight vector w", "*">;
def PolyAttn_DivVecOp : PolyAttn_VectorWeightOp<"div_vec", "a / w for a weight vector w", "/">;
}

//===----------------------------------------------------------------------===//
// Reductions over a vector and normalizations
//===----------------------------------------------------------------------===//

def PolyAttn_SumOp : PolyAttn_FeatureOp<"sum"> {
  let summary = "sum of a_i, a vector of width 1";
  let description = "Example: `%s = polyattn.sum %x : [64]`";
  let arguments = (ins PolyAttn_FeatureType:$input);
}

def PolyAttn_SquaredNormOp : PolyAttn_FeatureOp<"squared_norm"> {
  let summary = "sum of a_i^2, a vector of width 1";
  let description = "Example: `%n = polyattn.squared_norm %x : [64]`";
  let arguments = (ins PolyAttn_FeatureType:$input);
}

def PolyAttn_MaxOp : PolyAttn_FeatureOp<"max"> {
  let summary = "the largest element, a vector of width 1";
  let description = "Example: `%m = polyattn.max %x : [64]`";
  let arguments = (ins PolyAttn_FeatureType:$input);
}

def PolyAttn_FirstMaxOp : PolyAttn_FeatureOp<"first_max"> {
  let summary = "1 at the largest element, the first of equal ones, 0 elsewhere";
  let description = [{
    The gradient of `max`, where one element has it.

    Example: `%y = polyattn.first_max %x : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input);
}

def PolyAttn_LayerNormOp : PolyAttn_FeatureOp<"layer_norm", 1, 0, 2> {
  let firstWeight = "Gain";
  let summary = "(a - mean) / sqrt(var + eps), times gamma plus beta where given";
  let description = [{
    The variance is the biased one. With `eps_place = outside` the divisor is
    sqrt(var) + eps.

    C1: gamma and beta are vectors as wide as the input; beta comes after gamma.
    C2: eps is not negative.

    Example: `%y = polyattn.layer_norm %x {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, Variadic<PolyAttn_WeightType>:$affine, F64Attr:$eps,
                       PolyAttn_EpsPlaceAttr:$eps_place);
}

def PolyAttn_L2NormOp : PolyAttn_FeatureOp<"l2_norm"> {
  let summary = "a / max(|a|, eps)";
  let description = [{
    C1: eps is not negative.

    Example: `%y = polyattn.l2_norm %x {eps = 1.0e-12} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, F64Attr:$eps);
}

def PolyAttn_L2RescaleOp : PolyAttn_FeatureOp<"l2_rescale", 2> {
  let summary = "|r| / |a| a: the direction of a with the length of r";
  let description = [{
    FLatten's focused feature map. Zero where a is zero.

    Example: `%y = polyattn.l2_rescale %a, %r : [64], [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_FeatureType:$reference);
}

def PolyAttn_SumNormOp : PolyAttn_FeatureOp<"sum_norm"> {
  let summary = "a / (sum of a_i + eps)";
  let description = [{
    C1: eps is finite and not negative.

    Example: `%y = polyattn.sum_norm %x {eps = 1.0e-4} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, F64Attr:$eps);
}

def PolyAttn_SoftmaxOp : PolyAttn_FeatureOp<"softmax"> {
  let summary = "softmax over the elements, in groups";
  let description = [{
    The elements are cut into `groups` equal runs, each normalized by itself (hedgehog:
    one softmax over both halves, or one for each).

    C1: the number of groups is positive and divides the width.

    Example: `%y = polyattn.softmax %x {groups = 1} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, I64Attr:$groups);
}

def PolyAttn_RopeOp : PolyAttn_FeatureOp<"rope", 1, 1, 1, "false", [DependsOnPosition]> {
  let firstWeight = "Frequencies";
  let summary = "rotary position embedding";
  let description = [{
    The first `dims` elements are rotated in pairs by the angle scale (i + offset) f_m,
    i the position and f the frequencies, one per pair; the others stay. Pairs are
    (m, m + dims/2) with `half`, (2m, 2m + 1) with `interleaved`; `deinterleave` reads
    interleaved pairs and writes halves. With `inverse` pairs are rotated back, from where the layout
    writes them to where it reads them.

    C1: dims is even, positive and at most the width.
    C2: the frequencies are a vector of dims / 2 elements.
    C3: offset and scale are finite.

    Example: `%y = polyattn.rope %x, %f {layout = #polyattn.rope_layout<half>, dims = 64, offset = 0.0, scale = 1.0} : [64], 32`

    Example: `%x = polyattn.rope %y, %f {layout = #polyattn.rope_layout<half>, dims = 64, inverse, offset = 0.0, scale = 1.0} : [64], 32`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_WeightType:$freqs,
                       PolyAttn_RopeLayoutAttr:$layout, I64Attr:$dims, F64Attr:$offset,
                       F64Attr:$scale, UnitAttr:$inverse);
}

#endif // POLYATTN_FEATURE_OPS
