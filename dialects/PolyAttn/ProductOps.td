//===- ProductOps.td - products and powers of vectors ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PRODUCT_OPS
#define POLYATTN_PRODUCT_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

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
    All p-fold products (`tensor`, TPOW), the sorted monomials weighted by the root of their
    multinomial (`symmetric`), or sorted tuples of whole blocks (`symmetric` with `block`, TSPOW).
    The score is <a, a'>^p for each. With `abs` it is |<a, a'>|^p. For odd p that is another
    function, which has no features.

    C1: the degree is between 1 and 64.
    C2: a block is given with `symmetric` only and divides the operand's width.
    C3: the result's structure has a size that a formula may have.

    Example: `%y = polyattn.power 2 %x {symmetric} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, I64Attr:$degree, UnitAttr:$symmetric,
                       OptionalAttr<I64Attr>:$block, UnitAttr:$abs);
}

def PolyAttn_ExpScoreOp : PolyAttn_FeatureOp<"exp_score", 1, 0, 0, "false", [CombinesScores]> {
  let summary = "the exponential of a score";
  let description = [{
    The score is exp(<a, a'>), where <a, a'> is the score of the operand. The op has no features.
    Exponentials of sums of scores (`concat`) are products of exponentials. So a `relative` beside
    vectors is a bias of the exponent. `normalize <softmax>` takes exponentials by itself. This op
    writes them in other rows, and in gradients of a softmax.

    C1: the result's structure has a size that a formula may have.

    Example: `%y = polyattn.exp_score %x : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input);
}

def PolyAttn_TriuOp : PolyAttn_FeatureOp<"triu", 2> {
  let summary = "products a_i b_j for i <= j";
  let description = [{
    The upper triangle of the outer product, off-diagonal entries weighted by 1 (`none`)
    or by the root of 2 (`sqrt2`). No product form.

    C1: operands have one width.

    Example: `%y = polyattn.triu %a, %b {weights = none} : [16], [16]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$lhs, PolyAttn_FeatureType:$rhs,
                       PolyAttn_TriuWeightsAttr:$weights);
}

#endif // POLYATTN_PRODUCT_OPS
