//===- WeightOps.td - vectors times constants and weights -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_WEIGHT_OPS
#define POLYATTN_WEIGHT_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

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

#endif // POLYATTN_WEIGHT_OPS
