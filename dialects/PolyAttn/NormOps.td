//===- NormOps.td - reductions over a vector and normalizations -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_NORM_OPS
#define POLYATTN_NORM_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

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

    Example: `%y = polyattn.layer_norm %x {eps = 1.0e-5, eps_place = inside} : [64]`
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

#endif // POLYATTN_NORM_OPS
