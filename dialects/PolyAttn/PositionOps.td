//===- PositionOps.td - vectors that depend on the position ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_POSITION_OPS
#define POLYATTN_POSITION_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

def PolyAttn_RopeOp : PolyAttn_FeatureOp<"rope", 1, 1, 1, "false", [DependsOnPosition]> {
  let firstWeight = "Frequencies";
  let summary = "rotary position embedding";
  let description = [{
    The first `dims` elements are rotated in pairs by the angle scale (i + offset) f_m. i is the
    position, and f the frequencies, one per pair. The other elements stay. Pairs are (m,
    m + dims/2) with `half`, (2m, 2m + 1) with `interleaved`. `deinterleave` reads interleaved pairs
    and writes halves. With `inverse` pairs are rotated back, from where the layout writes them to
    where it reads them.

    C1: dims is even, positive and at most the width.
    C2: the frequencies are a vector of dims / 2 elements.
    C3: offset and scale are finite.

    Example: `%y = polyattn.rope %x, %f {layout = half, dims = 64, offset = 0.0, scale = 1.0} : [64], 32`

    Example: `%x = polyattn.rope %y, %f {layout = half, dims = 64, inverse, offset = 0.0, scale = 1.0} : [64], 32`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_WeightType:$freqs,
                       PolyAttn_RopeLayoutAttr:$layout, I64Attr:$dims, F64Attr:$offset,
                       F64Attr:$scale, UnitAttr:$inverse);
}

def PolyAttn_RelativeOp : PolyAttn_FeatureOp<"relative", 0, 1, 1> {
  let firstWeight = "Lags";
  let summary = "a score that depends on the distance of two positions alone";
  let description = [{
    The score of query i and key j is c(i - j), a number of a table. Examples are the weight W of
    the distance in "Fast RoPE Attention" (Definition 1.1), the positional term of kernelized
    attention (Luo and others 2021) and the biases of T5. The op has a score and no features.
    `tensor`, `concat`, `power` and `scale` multiply, add, raise and scale it like the scores of
    vectors.

    A table has L numbers, c(0) to c(L - 1), of the distance |i - j|. With `two_sided` it has 2 L -
    1 numbers, c(-(L - 1)) to c(L - 1), of the lag i - j. With `log` its numbers are natural
    logarithms, so that scores are positive. Lags outside the table are 0 with `beyond = zero`, and
    count as the last lag on their side with `beyond = last`. With `beyond = error` there are none:
    a call has at most L queries and L keys, and calls with more are refused. Lags are differences
    of rows: packed sequences have their own, of at most L positions each with `beyond = error`.
    `first_position` changes none. Where calls continue a sequence, its earlier positions count.

    A table belongs to query heads, where it has one row for each head. It is f32 whatever the
    storage.

    C1: the table is a vector of 1 to 65,536 numbers, an odd number of them with `two_sided`.
    C2: the table is an argument, or the weight of a map.

    Example: `%c = polyattn.relative %table {beyond = last, log} : 128`
  }];
  let arguments = (ins PolyAttn_WeightType:$table, PolyAttn_BeyondAttr:$beyond, UnitAttr:$log,
                       UnitAttr:$two_sided);
  let hasVerifier = 1;
  let extraClassDeclaration = kinds # [{
    LagTable getLags();
  }];
}

def PolyAttn_RelativeSlopeOp : PolyAttn_FeatureOp<"relative_slope", 0, 1, 1, "false", [OnlyInGradients]> {
  let firstWeight = "Lags";
  let summary = "the slope of `relative` in each number of its table";
  let description = [{
    A value of an attend that depends on the pair. It is 1 at the place of the pair's lag in the
    table and 0 elsewhere. With `log` it is the score itself in place of 1. It is all zeros if the
    lag is beyond a table with `beyond = zero`. So the row of query i adds up its scores by lag, and
    the sum of all rows is the gradient of the table.

    C1: the table is the table of a `relative` (C1 and C2 there).
    C2: only attends take it, as value.

    Example: `%s = polyattn.relative_slope %table {beyond = last, log} : 128`
  }];
  let arguments = (ins PolyAttn_WeightType:$table, PolyAttn_BeyondAttr:$beyond, UnitAttr:$log,
                       UnitAttr:$two_sided);
  let hasVerifier = 1;
  let extraClassDeclaration = kinds # [{
    LagTable getLags();
  }];
}

#endif // POLYATTN_POSITION_OPS
