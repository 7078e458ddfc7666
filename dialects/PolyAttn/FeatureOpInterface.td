//===- FeatureOpInterface.td - what every feature op says of itself -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURE_OP_INTERFACE
#define POLYATTN_FEATURE_OP_INTERFACE

include "mlir/IR/OpBase.td"

def PolyAttn_FeatureOpInterface : OpInterface<"FeatureOpInterface"> {
  let cppNamespace = "::polyattn";
  let description = [{
    What analyses, folds and costs ask of an op that computes one vector from vectors and
    weights. No method has a default: an op without one of them does not link.

    Its meaning in f64 and its tiles stand where their levels are, in lib/Reference and
    lib/Conversion/PolyAttnToTile, one function per op that is chosen by the op's class
    (OpDispatch.h): an op without one of them does not compile.
  }];
  let methods = [
    InterfaceMethod<
      "What follows for the result from what is known of the operands that are vectors.",
      "::polyattn::FeatureFacts", "getFacts",
      (ins "::llvm::ArrayRef<::polyattn::FeatureFacts>":$vectors)>,
    InterfaceMethod<[{
      f with op(c1 a1, c2 a2, ...) = f op(a1, a2, ...), where there is one whatever the vectors are.
      `factors` has a number for each operand, 1 for weights. Where a product is lost to the range of
      f64, f is NaN.}],
      "::std::optional<double>", "getFactorOutside", (ins "::llvm::ArrayRef<double>":$factors)>,
    InterfaceMethod<[{
      The number in every element of the result, where all elements of each operand that is a vector
      are one number; none where elements differ or depend on weights.}],
      "::std::optional<double>", "getConstantElement", (ins "::llvm::ArrayRef<double>":$vectors)>,
    InterfaceMethod<
      "What the op itself costs for one vector, its operands being there.",
      "::polyattn::FeatureCost", "getCost">,
    InterfaceMethod<
      "Which operands are vectors and which are weights, and what the first weight means; as defined.",
      "::polyattn::OperandKinds", "getOperandKinds", (ins), [{ return $_op.kOperandKinds; }]>
  ];
}

def PolyAttn_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::polyattn";
  let description = [{
    The gradient rule of a feature op, stated in feature ops. All feature ops have one, if it only
    says that there is none: an op without it does not link.
  }];
  let methods = [
    InterfaceMethod<[{
      With `dy` the gradient of a number with regard to the result, gives those with regard to the
      operands to the builder (`addTo`, `addToMatrix`, `addToWeight`), in ops that it builds. What
      has no gradient is refused there, with a diagnostic.}],
      "void", "buildGradient",
      (ins "::polyattn::GradientBuilder &":$g, "::mlir::Value":$dy)>
  ];
}

def PolyAttn_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::polyattn";
  let description = [{
    A feature op whose element i is computed from the elements i of its operands, or from the only
    element of an operand that has one. So any rows of it can be computed alone, in any orientation.
    What it means is the `element` of its definition (PolyAttn_ElementOp), for numbers of any kind.
  }];
  let methods = [
    InterfaceMethod<[{
      The element of the result in f64. `rounded` is applied to numbers on the way that arithmetic
      rounds and that the result may cancel.}],
      "double", "evaluateElement",
      (ins "::llvm::ArrayRef<double>":$operands, "::polyattn::RoundingFunction":$rounded)>
  ];
}

#endif // POLYATTN_FEATURE_OP_INTERFACE
