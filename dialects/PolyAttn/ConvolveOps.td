//===- ConvolveOps.td - convolutions along positions ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVOLVE_OPS
#define POLYATTN_CONVOLVE_OPS

include "dialects/PolyAttn/FeatureOpBase.td"

def PolyAttn_ConvolveOp
    : PolyAttn_FeatureOp<"convolve", 1, 1, 1, "false", [PolyAttn_InAttentionOrKernel]> {
  let summary = "a convolution along positions, with a filter for each channel";
  let description = [{
    A filter h has L numbers for each element e of a vector, h(0)[e] to h(L - 1)[e]. Lags from L on
    count as 0. With x_j the vector of position j, among T positions:

        y_i[e] = sum over j <= i of h(i - j)[e] x_j[e]

    With `reversed` the sum is over j >= i, with the lag j - i. Gradients of x use it. With
    `circular` it is over all j, and the lag is the remainder of i - j (j - i with `reversed`) by T.

    Long convolutions with gates are made of it: Hyena (Poli and others 2023, definition 3.1), H3
    (Fu and others 2023, section 3.1) and Toeplitz neural networks (Qin and others 2023). A filter
    belongs to a head, where it has numbers for each head. A filter of one number for each lag
    serves all elements. Lags are differences of rows: `first_position` changes none.

    Unlike all other feature ops it takes vectors of other positions. So it stands in an attention
    and in no map, and no attend takes what is computed from it: that needs an entry of its own.

    Calls have at most 2^23 positions.

    C1: the filter is a matrix of 1 to 2^24 lags and as many columns as the vector has elements, or
        a vector of lags.
    C2: the filter is an argument.

    Example: `%y = polyattn.convolve %x, %h : [64], 4096x64`
  }];
  let arguments = (ins PolyAttn_FeatureType:$input, PolyAttn_WeightType:$filter,
                       UnitAttr:$reversed, UnitAttr:$circular);
  let hasVerifier = 1;
  let extraClassDeclaration = kinds # [{
    /// The most lags of a filter.
    static constexpr int64_t kMostLags = int64_t(1) << 24;
    /// The most positions of a call: roots of unity are exact for twice as many.
    static constexpr int64_t kMostPositions = int64_t(1) << 23;
    int64_t getLags();
    /// Whether all elements have the numbers of one column.
    bool hasSharedChannels();
    /// The argument that has the filter's numbers, and whether it has some for each head.
    ::mlir::BlockArgument getFilterArgument();
    bool hasFilterPerHead();
  }];
}

def PolyAttn_FilterGradientOp : PolyAttn_Op<"filter_gradient",
    [Pure, PolyAttn_InAttentionOrKernel, AttrSizedOperandSegments, InferTypeOpAdaptor,
     OnlyInGradients]> {
  let summary = "the gradient of a filter, a correlation along positions";
  let description = [{
    The gradient of the filter of `convolve`, where y is its result and x its operand:

        dh(n)[e] = sum over batches and pairs of positions i - j = n of dy_i[e] x_j[e]

    With `circular` n is the remainder of i - j by T. With `reversed` it is that of j - i. Lags
    that no pair of positions has are 0. With `shared_channels` the filter is a vector, and its
    gradient the sum over e. `return` adds up the heads if all of them share the filter. Several
    pairs (x, dy) are added up. A running sum (`plus`) is added once.

    C1: there is at least one pair, and all vectors have one width.
    C2: there are 1 to 2^24 lags.
    C3: only `return` uses the result, or `kernel_yield`.

    Example: `%dh = polyattn.filter_gradient (%x, %dy) {lags = 4096} : ([64], [64])`
  }];
  let arguments = (ins Variadic<PolyAttn_FeatureType>:$inputs,
                       Variadic<PolyAttn_FeatureType>:$gradients, Optional<AnyRankedTensor>:$plus,
                       I64Attr:$lags, UnitAttr:$reversed, UnitAttr:$circular,
                       UnitAttr:$shared_channels);
  let results = (outs PolyAttn_WeightType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // POLYATTN_CONVOLVE_OPS
