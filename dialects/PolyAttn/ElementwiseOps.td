//===- ElementwiseOps.td - element-wise functions of one vector -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ELEMENTWISE_OPS
#define POLYATTN_ELEMENTWISE_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

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

/// The values of a function that never falls: its formula at the bounds of its argument.
defvar PolyAttn_Increasing = "valuesOfIncreasing(*this, x)";

def PolyAttn_EluPlusOneOp : PolyAttn_FunctionOp<"elu_plus_one", "exp(min(a, 0)) + max(a, 0)",
    [{a > 0 ? a + 1 : exp(a)}],
    [{g.mul({dy, g.sub(y, g.create<ReluOp>(x))})}], PolyAttn_Increasing>;

def PolyAttn_ExpOp : PolyAttn_FunctionOp<"exp", "exp(a)", [{exp(a)}], [{g.mul({dy, y})}],
    PolyAttn_Increasing>;

def PolyAttn_TanhOp : PolyAttn_FunctionOp<"tanh", "tanh(a)", [{tanh(a)}],
    [{g.mul({dy, g.oneMinus(g.mul({y, y}))})}], PolyAttn_Increasing>;

def PolyAttn_SinOp : PolyAttn_FunctionOp<"sin", "sin(a)", [{sin(a)}],
    [{g.mul({dy, g.create<CosOp>(x)})}], "Bounds{-1, 1}">;

def PolyAttn_CosOp : PolyAttn_FunctionOp<"cos", "cos(a)", [{cos(a)}],
    [{g.scale(g.mul({dy, g.create<SinOp>(x)}), -1)}], "Bounds{-1, 1}">;

def PolyAttn_SigmoidOp : PolyAttn_FunctionOp<"sigmoid", "1 / (1 + exp(-a))",
    [{1 / (1 + exp(-a))}], [{g.mul({dy, y, g.oneMinus(y)})}], PolyAttn_Increasing>;

// s + y (1 - s) with s = sigmoid(a)
def PolyAttn_SiluOp : PolyAttn_FunctionOp<"silu", "a / (1 + exp(-a))",
    [{a / (1 + exp(-a))}], [{
        g.mul({dy, g.add({g.create<SigmoidOp>(x),
                          g.mul({y, g.oneMinus(g.create<SigmoidOp>(x))})})})}],
    "ofRectifierWithDip(x, /*lowest=*/-0.2785)">;

def PolyAttn_SoftplusOp : PolyAttn_FunctionOp<"softplus", "log(1 + exp(a))",
    [{a > 0 ? a + log1p(exp(-a)) : log1p(exp(a))}],
    [{g.mul({dy, g.create<SigmoidOp>(x)})}], PolyAttn_Increasing>;

// 1 + erf and 1 + tanh would cancel where a is far below 0.
def PolyAttn_GeluOp : PolyAttn_FunctionOp<"gelu", "gelu(a), by tanh or by erf", [{
        getForm() == GeluForm::Erf
            ? 0.5 * a * erfc(rounded(-a / sqrt(2.0)))
            : a / (1 + exp(rounded(-2 * sqrt(2 / M_PI) * (a + 0.044715 * a * a * a))))}], [{
        g.mul({dy, g.create<GeluSlopeOp>(x, getForm())})}],
    "ofRectifierWithDip(x, /*lowest=*/-0.1701)"> {
  let description = [{
    Example: `%y = polyattn.gelu %x {form = tanh} : [256]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_GeluFormAttr:$form);
}

// a s with the sigmoid s of u = c (a + 0.044715 a^3) has the slope s + a s (1 - s) u'. Its terms, each
// of which is rounded, cancel about a = -0.75.
def PolyAttn_GeluSlopeOp : PolyAttn_FunctionOp<"gelu_slope", "the derivative of gelu(a)", "a", [{
        g.refuse(*this, "has no derivative: second derivatives are not supported")}],
    "Bounds{-0.13, 1.13}"> {
  let description = [{
    Example: `%y = polyattn.gelu_slope %x {form = tanh} : [256]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_GeluFormAttr:$form);
  let element = [{
    const Number &a = operands[0];
    if (getForm() == GeluForm::Erf)
      return rounded(0.5 * erfc(rounded(-a / sqrt(2.0)))) +
             rounded(a * exp(rounded(-a * a / 2)) / sqrt(2 * M_PI));
    double c = 2 * sqrt(2 / M_PI);
    Number s = rounded(1 / (1 + exp(rounded(-c * (a + 0.044715 * a * a * a)))));
    return s + rounded(a * s * (1 - s) * c * (1 + 3 * 0.044715 * a * a));
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

#endif // POLYATTN_ELEMENTWISE_OPS
