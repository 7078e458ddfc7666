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

#endif // POLYATTN_POSITION_OPS
