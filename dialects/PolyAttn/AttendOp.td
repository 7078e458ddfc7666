//===- AttendOp.td - attention from feature vectors -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ATTEND_OP
#define POLYATTN_ATTEND_OP

include "dialects/PolyAttn/PolyAttnBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def PolyAttn_AttendOp : PolyAttn_Op<"attend",
    [Pure, PolyAttn_InAttentionOrKernel, AttrSizedOperandSegments, InferTypeOpAdaptor,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "attention from feature vectors";
  let description = [{
    With kappa(i, j) = score_scale <query_i, key_j>, g the decay and the mask's keys j:

        S_i = g_i S_{i-1} + key_i value_i^T        N_i = query_i^T S_i
        z_i = g_i z_{i-1} + key_i                  Z_i = query_i^T z_i
        o_i = N_i over the denominator that `normalizer` builds from Z_i

    A token's decay does not apply to its own key and value. With `local`, pairs (i, j) of one block
    of `block` positions take their score from the local vectors instead (PolySketchFormer, section
    3.2). There the block is part of the meaning. With `sliding` these are the pairs with
    |i - j| < `block`, so that each query has as many keys with local scores (the sliding window of
    LoLCATs, Zhang and others 2024, section 3.3).

    The mask `causal` leaves the keys j <= i of query i, `full` all, and `anticausal` the keys
    j >= i. The anticausal pair of query i and key j has the decay of the causal pair of query j and
    key i:

        S_i = g_{i+1} S_{i+1} + key_i value_i^T

    Gradients of keys use this mask. `initial` is then the state after the last position, and
    `final_state` the state before the first one, g_0 S_0.

    `decay` is the natural logarithm of g. It is a tensor per token and head [B, T, Hg], per head
    [Hg], or per token and feature [B, T, Hg, D]. Per feature, g_i is a vector that multiplies the
    rows of S and the elements of z (gated linear attention, Yang and others 2024, equation 3). The
    score of a pair is then the sum over features of query, key and the gates between them.
    `decay_factors` is a list of g itself, one number per head. Hg is the number of key heads, or of
    query heads with `gate_heads = q`.

    `grouping` says which key head serves a query head h if the numbers of heads differ:
    `h / (H / Hkv)` (`block`) or `h mod Hkv` (`interleaved`). Without it they may not differ.

    `initial` gives S and z before position 0. `final_state` asks for them after the last one. Their
    features are in the order in which the structure of the key lists them. With
    `initial_transposed` the initial state is given as its transpose [B, H, dv, D]. Gradients use
    this: the key of a gradient's attend may be the value of the attend that left the state. A last
    dimension of 1 may be left out of a state that is an argument or a result.

    With `window = w` query i sees only the keys j of the mask with |i - j| < w.

    `precision = f32` keeps the factors of products as exact as f32. `precision = bf16` lets kernels
    round the factors of products of matrices to bf16, where the target gains from that. Without it
    the type of the sequences decides, see `--tile-set-precision`. One kernel may compute several
    attends, so `f32` in one of them holds for the whole attention, and `bf16` only if all say so.

    `factors` asks for a last result, two numbers for each row, which the gradient of the row needs.
    The first is the number by which N was multiplied to give o. The second says how much the
    denominator follows Z: it is the same number, or 0 where `min_denom` holds. For a softmax there
    is one number, the logarithm of Z.

    `of_keys` swaps the sides. `query` is then a vector of keys, with their positions and heads, and
    `key` and `value` are vectors of queries. The row of a key head is the sum over the query heads
    that it serves. Gradients of keys need this where the numbers of heads differ. A decay keeps the
    head of the pair, whichever side is called query. So does a state: the state of a key head is a
    sum over these query heads, which contains the initial state once.

    `products %x`, with a vector x of a row as wide as the value, asks for a last result, one number
    for each row. It is the sum over the row's pairs of the pair's weight times <value_j, x_i>. The
    sum leaves out the pair of a position with itself and includes the part of the initial state.
    Gradients of decays are made of these numbers. A position's pair with itself never decays, so it
    would only hide them. With `of_keys` there is one number for each query head: they are not
    summed up.

    `state_every = L` asks for the state after each block of L positions, as a result of rows. Row t
    of block b holds row t - b L of the transposed state, in one piece for each L elements of the
    value, and its part of the normalizer. BlockStates.h has the layout. After the last block it is
    the state after the last position.

    `block_states %s` gives these states to an attend. They come from an attend whose keys were this
    one's values. That attend's value, followed by the 1 of its normalizer if it had one, is this
    one's key. The states contain nothing that query, key and value do not. Kernels read them
    instead of summing up again, so that blocks may be computed in any order.

    `state %s` is the state whose sums S and z the row reads (`polyattn.state`). Passes add it,
    specs leave it out. `initial` is then an operand of that state, and `final_state` asks for its
    last sums.

    C1: query and key have equal structures.
    C2: local vectors come as a pair of equal structures, with a block and without the full mask.
    C3: a block is positive.
    C4: the local scores have the degree of the scores if both are polynomials. A constant 0 on
        either side is exempt: with it an attend leaves out the pairs of a block or all others.
    C5: with `sum` or `bias` the scores, `score_scale` included, are known not to be negative.
        Otherwise `signed_scores` says that the denominator may vanish or change its sign.
    C6: a decay needs an order, so not the full mask. It is a tensor or a list, not both.
    C7: a decay is f32 of shape [B, T, H], [H] or [B, T, H, D] for D features; factors are in (0,
        1].
    C8: a state is f32 of shape [B, H, D, dv], or the transpose with `initial_transposed`. Its
        normalizer part is [B, H, D]. It is given if, and only if, there is a normalizer.
    C9: a state is asked for only if D is small enough to hold one (at most 2^24 features) and the
        scores are an inner product of features.
    C10: a state is not for the full mask: it sums up the keys on one side of a query.
    C11: `score_scale` is finite.
    C12: decays and initial states are arguments of the attention; a state may be a sum of them
        (`add_states`).
    C13: `eps_mode = row_max` has no state: the row's largest score is not known from one.
    C14: odd powers of |score|, `exp_score` and `relative` stand in the query and in the key at the
        same places. They stand in the operands of `tensor`, `concat`, `power`, `exp_score` and
        `scale` only. They have scores and no features, so no other op takes them. They are neither
        a value nor a result.
    C15: `factors` are asked for only where a row is divided by something, and not with
        `eps_mode = row_max`.
    C16: `of_keys` has `normalize <none>`, without a mean.
    C17: `products` are with a vector as wide as the value. They need the mask causal or anticausal
        and `normalize <none>`, without a mean. Only `decay_gradient` takes them.
    C18: `state_every` is positive. It needs the causal mask and an attend that has a state (C9,
        C13), without local vectors. The attention has no slots or lengths, and all its local blocks
        are multiples of it. Only `return` takes the states. `block_states` are an argument f32
        [B, T, H, W]. They need `normalize <none>`, no initial or final state, and plain vectors
        side by side as key.
    C19: with `state`, an initial state is that state's own operand, and there are no
        `block_states`. The state has the query's features and the value's width. It has a
        normalizer if, and only if, the attend has one.
    C20: a decay of each feature needs the mask causal and scores that have features. It is not for
        local vectors, `of_keys`, `products`, `state_every` and `initial_transposed`. The `state` is
        a `channel_state`.
    C21: a `relative` with `two_sided` is for the mask full. Without it the score depends on the
        distance |i - j|.
        |i - j|.
    C22: a `relative_slope` as value, of one side as C21 says, needs `normalize <none>` without a
        mean, and no state, `products` or `of_keys`. Only `weight_gradient` takes the rows.
    C23: a `window` has 1 to 2^31 - 1 positions. It is not for states, local vectors, a decay of
        each feature or `reduce = mean`: these have all keys before a position.
    C24: `normalize <softmax>` is not for states, local vectors or decays. C5 does not hold for it:
        exponentials are positive.
    C25: `sliding` needs local vectors. It is not for decays, `state_every` and `products`. States
        in and out are those of an attention that keeps the window's keys in rings (`keep`).

    Example: `%o = polyattn.attend query %a key %b value %c causal normalize <none> : [64], [64], [64]`
  }];
  let arguments = (ins
    PolyAttn_FeatureType:$query, PolyAttn_FeatureType:$key, PolyAttn_FeatureType:$value,
    Optional<PolyAttn_FeatureType>:$local_query, Optional<PolyAttn_FeatureType>:$local_key,
    Optional<AnyRankedTensor>:$decay, Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$initial_normalizer, Optional<AnyRankedTensor>:$block_states,
    Optional<PolyAttn_FeatureType>:$products, Optional<PolyAttn_StateType>:$state,
    PolyAttn_MaskAttr:$mask, PolyAttn_NormalizerAttr:$normalizer,
    OptionalAttr<F64Attr>:$score_scale, OptionalAttr<DenseF64ArrayAttr>:$decay_factors,
    OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads,
    OptionalAttr<PolyAttn_GroupingAttr>:$grouping,
    OptionalAttr<I64Attr>:$block, UnitAttr:$signed_scores, UnitAttr:$initial_transposed,
    UnitAttr:$final_state, UnitAttr:$factors, OptionalAttr<PolyAttn_ScheduleAttr>:$schedule,
    UnitAttr:$of_keys, OptionalAttr<I64Attr>:$state_every, OptionalAttr<I64Attr>:$window,
    UnitAttr:$sliding, OptionalAttr<PolyAttn_ProductPrecisionAttr>:$precision);
  let results = (outs PolyAttn_FeatureType:$output,
                 Variadic<AnyTypeOf<[AnyRankedTensor, PolyAttn_FeatureType]>>:$others);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The largest number of features for which a state can be asked.
    static constexpr int64_t kMaxStateWidth = int64_t(1) << 24;
    /// The longest window: positions are 32 bits on a GPU.
    static constexpr int64_t kMaxWindow = (int64_t(1) << 31) - 1;
    double scoreScale() { return getScoreScale() ? getScoreScale()->convertToDouble() : 1.0; }
    bool hasDecay() { return getDecay() || getDecayFactors(); }
    /// Whether each feature has a decay of its own.
    bool hasDecayOfFeatures();
    /// The state and, with a normalizer, its part of it; none where they are not asked for.
    ::mlir::ResultRange getFinalStates() {
      return getOthers().drop_back((getFactors() ? 1 : 0) + (keepsStates() ? 1 : 0) +
                                   (getProducts() ? 1 : 0));
    }
    /// Whether `state_every` asks for states, and does not say where those are that are given.
    bool keepsStates() { return getStateEvery() && !getBlockStates(); }
    /// How the states after blocks lie in rows, asked for or given. With `state_every`.
    BlockStates getStatesLayout();
    /// The states after blocks, as rows; null where they are not asked for.
    ::mlir::Value getKeptStates() {
      return keepsStates() ? ::mlir::Value(getOthers().drop_back(getProducts() ? 1 : 0).back())
                           : ::mlir::Value();
    }
    /// The result of `factors`, a vector of one or two numbers; null without.
    ::mlir::Value getRowFactors() {
      return getFactors() ? ::mlir::Value(getOthers()[getFinalStates().size()]) : ::mlir::Value();
    }
    /// The result of `products`, a vector of one number; null without.
    ::mlir::Value getRowProducts() {
      return getProducts() ? ::mlir::Value(getOthers().back()) : ::mlir::Value();
    }
    /// The state that is given to the attend, or to the `state` that it reads; of a view none.
    GivenState getGivenState();
    /// Whether a state is given, also to one that a view is of.
    bool hasInitialState();
    /// The slope of scores that is the value; null for other values.
    RelativeSlopeOp getLagSlope();
    /// Whether a query sees the keys on its own side only.
    bool isOrdered() { return getMask() != Mask::Full; }
  }];
}

#endif // POLYATTN_ATTEND_OP
