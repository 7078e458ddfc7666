//===- StructureOps.td - sums, parts and constants ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_STRUCTURE_OPS
#define POLYATTN_STRUCTURE_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

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
    Used for coordinate selection (FPA, Table 1), slices, and rolls (DPFP).

    C1: there is at least one index, each within the operand's width.

    Example: `%y = polyattn.select %x {indices = array<i64: 0, 2, 4>} : [64]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, DenseI64ArrayAttr:$indices);
  let hasFolder = 1;
}

def PolyAttn_ScatterOp : PolyAttn_FeatureOp<"scatter"> {
  let summary = "the operand's elements added up at the given indices, zero elsewhere";
  let description = [{
    y_j is the sum of the x_i with indices[i] = j. It is the adjoint and the gradient of `select`.

    C1: the width is at least 1.
    C2: there are as many indices as the operand is wide, each within `width`.

    Example: `%y = polyattn.scatter %x {indices = array<i64: 0, 2, 2>, width = 64} : [3]`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, DenseI64ArrayAttr:$indices, I64Attr:$width);
}

#endif // POLYATTN_STRUCTURE_OPS
