//===- AttentionOps.td - feature maps, entry points, attention ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ATTENTION_OPS
#define POLYATTN_ATTENTION_OPS

def PolyAttn_FeatureMapOp : PolyAttn_Op<"feature_map",
    [Symbol, IsolatedFromAbove, SingleBlock,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a named feature map: a small program over one vector";
  let description = [{
    The first arguments are vectors (`[64]`), the others weights (`64x256`). The body is a
    program of feature ops that ends in `yield`; inside it ops are written without
    the dialect's prefix.

    C1: arguments are feature vectors or weights.
    C2: the body yields exactly one vector.

    ```mlir
    polyattn.feature_map @llops(%x: [64], %theta1: 64x256, %theta2: 64x256) {
      %a = project %x, %theta1 : [64], 64x256
      %b = project %x, %theta2 : [64], 64x256
      %phi = hadamard %a, %b : [256], [256]
      yield %phi : [256]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "polyattn"; }
    /// The yielded vector; null where the body does not end in `yield`.
    ::mlir::Value getFeatures();
  }];
}

def PolyAttn_YieldOp : PolyAttn_Op<"yield",
    [Terminator, Pure, HasParent<"::polyattn::FeatureMapOp">]> {
  let summary = "the result of a feature map";
  let arguments = (ins PolyAttn_FeatureType:$features);
  let assemblyFormat = "$features attr-dict `:` custom<FeatureType>(type($features))";
}

def PolyAttn_AttentionOp : PolyAttn_Op<"attention",
    [Symbol, IsolatedFromAbove, SingleBlock,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>, HasParent<"::mlir::ModuleOp">]> {
  let summary = "an entry point: the tensors of one attention and what is computed from them";
  let description = [{
    Arguments are tensors. Their names are the spec's own: tools and generated headers
    use them. Sizes of batch, position and head are dynamic:

      tensor<?x?x?x64xf32>  queries, keys, values: [B, T, H, d]
      tensor<64x256xf32>    a weight shared by all heads;  tensor<?x64x256xf32>: one per head
      tensor<64xf32>        a vector, likewise;            tensor<?x64xf32>: one per head
      tensor<?x?x64xf32>    a vector per position and head [T, H, d];  tensor<?x1x64xf32>: per position
                            (never a weight of one row per head)

    `first_position %first` names an argument `tensor<?xi64>` or `tensor<?xi32>`, [B]: the position
    that the first row of a call has in its sequence, 0 without it. It is for calls that continue
    from a state, and everything that counts positions counts from there: `rope`, tables
    [T, H, d], which then have any number of rows L and are read from row `first` on,
    `reduce = mean`, whose row i has seen first + i + 1 keys under the causal mask (and under the
    anticausal one those of the call from i on), and local
    blocks, at whose multiples calls begin unless the rows of the block are kept (`keep`). One clause serves the whole entry, as one call has one
    place in its sequence; maps need no argument for it.

    A result that is a final state may live in the argument that is its initial state,
    `final: tensor<?x?x64x64xf32> in %state`: a call updates it in place. `slots %slots` names an
    argument `tensor<?xi32>` or `tensor<?xi64>`, [B], which makes all states pools [P, H, D, dv]: batch b
    continues from row slots[b] of a pool and leaves its final state there, and no other row is
    touched. Where slots[b] is below 0 the batch has no state, its results are zero and nothing of it
    is read. With `first_position`, a batch that begins at 0 is a new sequence: its state begins with
    zeros, whatever its row holds. No two batches have one row.

    `lengths %lengths` names an argument of the same form: only the first lengths[b] positions of
    batch b count, and the results of the others are zero.

    `packed %offsets` names an argument `tensor<?xi64>` or `tensor<?xi32>`, [N + 1]: sequences
    [1, T, H, d] hold N sequences one after the other, of which number n has the positions from
    offsets[n] on and ends before offsets[n + 1]. Each is attended to alone, as if it were a call of
    its own: positions, masks, decays and local blocks begin anew with it, and there is a state, a
    normalizer, a slot and a first position for each, [N, ...] instead of [B, ...]. Queries and keys have the
    same positions. Tables [T, H, d] have any number of rows L and are read by the position in the sequence.

    What computes gradients says of its tensors what they are: `gradient_of` has the name of an
    argument or a result for each that is a gradient of it, and `saved` lists arguments that the entry
    whose gradients these are gave as results.

    C1: every tensor has one of these shapes, or that of a decay or a state.
    C2: sequences [B, T, H, d] have one storage type, f32, bf16 or f16; every other argument holds
        that type or f32, saved ones and gradients, too. Decays and states are f32.
    C3: the body ends in `return`, whose operands, at least one, fit the result types.
    C4: names of arguments and results are identifiers of C and distinct.
    C5: the arguments that `first_position`, `slots`, `lengths` and `packed` name are `tensor<?xi64>` or
        `tensor<?xi32>`, different ones, and the body does not use them; no other argument holds whole
        numbers.
    C6: `gradient_of` has names of arguments or results, and `saved` those of arguments.
    C7: a result that lives in an argument is the final state, or its normalizer, of the one attend
        whose initial state, or normalizer, that argument is, or the rows that are kept in that
        argument, and no other result lives there.
    C8: with `slots` there is a state, and every initial and every final state lives in a pool; with
        `slots` or `lengths` all attends are causal, and local vectors, whose blocks reach into the
        keys of the calls before, have these kept.
    C9: packed sequences have offsets, and no `lengths`.
    C10: rows are kept with `slots` and `first_position`, in pools that results live in, and for local
        vectors: all attends have some, with blocks of as many positions as the pools keep. What is
        kept is all that their keys and values are read from, and their decays, each once.

    ```mlir
    polyattn.attention @linear(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                               %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
      %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
      %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
      %values = read %v : tensor<?x?x?x64xf32> -> [64]
      %o = attend query %phi_q key %phi_k value %values
          causal normalize <sum, eps = 1.0e-6>
          {grouping = #polyattn.grouping<block>}
        : [64], [64], [64]
      return %o : [64]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names,
                       StrArrayAttr:$result_names, TypeArrayAttr:$result_types,
                       OptionalAttr<I64Attr>:$first_position,
                       OptionalAttr<I64Attr>:$slots, OptionalAttr<I64Attr>:$lengths,
                       OptionalAttr<I64Attr>:$packed,
                       OptionalAttr<DenseI64ArrayAttr>:$result_in,
                       OptionalAttr<DictionaryAttr>:$gradient_of,
                       OptionalAttr<StrArrayAttr>:$saved);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "polyattn"; }
    /// Whether an argument is a decay or a state, which are f32 whatever else holds.
    static bool isDecayOrState(::mlir::BlockArgument argument);
    /// Whether an argument is what another entry has kept for this one.
    bool isSaved(::mlir::BlockArgument argument);
    /// The argument that `first_position` names; null without.
    ::mlir::BlockArgument getFirstPositionArgument();
    /// Those that `slots` and `lengths` name, likewise.
    ::mlir::BlockArgument getSlotsArgument();
    ::mlir::BlockArgument getLengthsArgument();
    /// The one that `packed` names, where packed sequences begin and end.
    ::mlir::BlockArgument getOffsetsArgument();
    /// Whether an argument is one of these, whole numbers that the body does not use.
    bool isWholeNumbers(::mlir::BlockArgument argument);
    /// The argument in whose memory a result lives; null where it has its own.
    ::mlir::BlockArgument getArgumentOfResult(unsigned result);
  }];
}

def PolyAttn_ReadOp : PolyAttn_Op<"read",
    [Pure, HasParent<"::polyattn::AttentionOp">]> {
  let summary = "the vector of this token and head, or the weight of this head";
  let description = [{
    C1: the tensor's shape is one of those that `polyattn.attention` lists and fits the result.
    C2: the tensor is an argument of the attention.

    Example: `%x = polyattn.read %q : tensor<?x?x?x64xf32> -> [64]`
  }];
  let arguments = (ins AnyRankedTensor:$tensor);
  let results = (outs AnyTypeOf<[PolyAttn_FeatureType, PolyAttn_WeightType]>:$result);
  let assemblyFormat = [{
    $tensor attr-dict `:` type($tensor) `->` custom<FeatureType>(type($result))
  }];
  let hasVerifier = 1;
}

def PolyAttn_ApplyOp : PolyAttn_Op<"apply",
    [Pure, HasParent<"::polyattn::AttentionOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a feature map applied to vectors and weights";
  let description = [{
    Tensors are read as `polyattn.read` does. A map without arguments is a constant vector.

    C1: the symbol names a feature map.
    C2: the operands are as many as the map's arguments and fit them.
    C3: the result has the map's structure.
    C4: tensors are arguments of the attention.

    Example: `%phi = polyattn.apply @llops(%q, %theta1, %theta2) : tensor<?x?x?x64xf32>, tensor<64x256xf32>, tensor<64x256xf32> -> [256]`
  }];
  let arguments = (ins FlatSymbolRefAttr:$map,
      Variadic<AnyTypeOf<[AnyRankedTensor, PolyAttn_FeatureType, PolyAttn_WeightType]>>:$inputs);
  let results = (outs PolyAttn_FeatureType:$result);
  let assemblyFormat = [{
    $map `(` $inputs `)` attr-dict `:` custom<FeatureTypes>(type($inputs)) `->`
    custom<FeatureType>(type($result))
  }];
}

def PolyAttn_AttendOp : PolyAttn_Op<"attend",
    [Pure, HasParent<"::polyattn::AttentionOp">, AttrSizedOperandSegments, InferTypeOpAdaptor,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "attention from feature vectors";
  let description = [{
    With kappa(i, j) = score_scale <query_i, key_j>, g the decay and the mask's keys j:

        S_i = g_i S_{i-1} + key_i value_i^T        N_i = query_i^T S_i
        z_i = g_i z_{i-1} + key_i                  Z_i = query_i^T z_i
        o_i = N_i over the denominator that `normalizer` builds from Z_i

    A token's own decay does not touch what it adds. With `local`, pairs (i, j) of one
    block of `block` positions take their score from the local vectors instead
    (PolySketchFormer, section 3.2): there the block is part of the meaning.

    The mask `causal` leaves the keys j <= i of query i, `full` all, and `anticausal` the keys j >= i,
    with the decay that the causal pair of query j and key i has:

        S_i = g_{i+1} S_{i+1} + key_i value_i^T

    It is what gradients of keys are made of. `initial` is then the state after the last position, and
    `final_state` the one before the first, g_0 S_0.

    `decay` is the natural logarithm of g, a tensor per token and head [B, T, Hg] or per
    head [Hg]; `decay_factors` is a list of g itself, one number per head. Hg is the
    number of key heads, or of query heads with `gate_heads = q`. `grouping` says which
    key head serves a query head h where the numbers of heads differ: h / (H / Hkv)
    (`block`) or h mod Hkv (`interleaved`). Without it they may not differ.

    `initial` gives S and z before position 0, `final_state` asks for them after the
    last one, in the order in which the key's structure lists its features. With `initial_transposed`
    the initial state is given as its transpose [B, H, dv, D]: a state of features of keys is that of an
    attend of their gradients, whose key is what was the value. A last dimension of 1 may be left out of a
    state that is an argument or a result.

    `factors` asks for a last result, two numbers for each row that its gradient takes: by what N was
    multiplied to give o, and by how much the denominator follows Z, the same number or 0 where
    `min_denom` holds.

    `of_keys` swaps the sides: `query` is then a vector of keys, with their positions and heads, `key` and
    `value` are vectors of queries, and the row of a key head is the sum over the query heads that it serves.
    So gradients of keys are said where the numbers of heads differ. The head of a decay is that of the
    pair, whatever its sides are called.

    `products %x`, with a vector x of a row as wide as the value, asks for a last result, one number for
    each row: the sum over its pairs but that with itself of the pair's weight times <value_j, x_i>. What
    the initial state gives is part of it. Gradients of decays are made of these numbers, which their
    own pairs, that never decay, would only hide. With `of_keys` there is one for each query head: they are
    not summed up.

    C1: query and key have equal structures.
    C2: local vectors come as a pair of equal structures, with a block and without the full mask.
    C3: a block is positive.
    C4: the local scores have the degree of the scores, where both are polynomials and neither is a
        constant 0, by which an attend leaves out the pairs of a block or all others.
    C5: with `sum` or `bias` the scores, `score_scale` included, are known not to be negative, or
        `signed_scores` says that the denominator may vanish or change its sign.
    C6: a decay needs an order, so not the full mask; it is a tensor or a list, not both.
    C7: a decay is f32 of shape [B, T, H] or [H]; factors are in (0, 1].
    C8: a state is f32 of shape [B, H, D, dv], or the transpose where `initial_transposed` says so, its
        normalizer part [B, H, D]; the latter is given where, and only where, there is a normalizer.
    C9: a state is asked for only where D is small enough to hold one (at most 2^24
        features) and the scores are an inner product of features.
    C10: a state is not for the full mask: it is what the keys on one side of a query say.
    C11: `score_scale` is finite.
    C12: decays and initial states are arguments of the attention.
    C13: `eps_mode = row_max` has no state: the row's largest score is not known from one.
    C14: odd powers of |score| stand in the query and in the key at the same places, in the operands
        of `tensor`, `concat`, `power` and `scale` only. They have scores and no features, so that no
        other op takes them, nor a value or a result.
    C15: `factors` are asked for only where a row is divided by something, and not with
        `eps_mode = row_max`.
    C16: `of_keys` has `normalize <none>`, without a mean, and no states.
    C17: `products` are with a vector as wide as the value; they need the mask causal or anticausal and
        `normalize <none>`, without a mean, and only `decay_gradient` takes them.

    Example: `%o = polyattn.attend query %a key %b value %c causal normalize <none> : [64], [64], [64]`
  }];
  let arguments = (ins
    PolyAttn_FeatureType:$query, PolyAttn_FeatureType:$key, PolyAttn_FeatureType:$value,
    Optional<PolyAttn_FeatureType>:$local_query, Optional<PolyAttn_FeatureType>:$local_key,
    Optional<AnyRankedTensor>:$decay, Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$initial_normalizer, Optional<PolyAttn_FeatureType>:$products,
    PolyAttn_MaskAttr:$mask, PolyAttn_NormalizerAttr:$normalizer,
    OptionalAttr<F64Attr>:$score_scale, OptionalAttr<DenseF64ArrayAttr>:$decay_factors,
    OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads,
    OptionalAttr<PolyAttn_GroupingAttr>:$grouping,
    OptionalAttr<I64Attr>:$block, UnitAttr:$signed_scores, UnitAttr:$initial_transposed,
    UnitAttr:$final_state, UnitAttr:$factors, OptionalAttr<PolyAttn_ScheduleAttr>:$schedule,
    UnitAttr:$of_keys);
  let results = (outs PolyAttn_FeatureType:$output,
                 Variadic<AnyTypeOf<[AnyRankedTensor, PolyAttn_FeatureType]>>:$others);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The largest number of features for which a state can be asked.
    static constexpr int64_t kMaxStateWidth = int64_t(1) << 24;
    double scoreScale() { return getScoreScale() ? getScoreScale()->convertToDouble() : 1.0; }
    bool hasDecay() { return getDecay() || getDecayFactors(); }
    /// The dimensions of the initial state after batch and head, [D, dv] or its transpose.
    ::llvm::SmallVector<int64_t, 2> initialStateSizes();
    /// The state and, with a normalizer, its part of it; none where they are not asked for.
    ::mlir::ResultRange getFinalStates() {
      return getOthers().drop_back((getFactors() ? 1 : 0) + (getProducts() ? 1 : 0));
    }
    /// The result of `factors`, a vector of two numbers; null without.
    ::mlir::Value getRowFactors() {
      return getFactors() ? ::mlir::Value(getOthers().drop_back(getProducts() ? 1 : 0).back())
                          : ::mlir::Value();
    }
    /// The result of `products`, a vector of one number; null without.
    ::mlir::Value getRowProducts() {
      return getProducts() ? ::mlir::Value(getOthers().back()) : ::mlir::Value();
    }
    /// Whether a query sees the keys on its own side only.
    bool isOrdered() { return getMask() != Mask::Full; }
  }];
}

def PolyAttn_AttendBackwardOp : PolyAttn_Op<"attend_backward",
    [Pure, HasParent<"::polyattn::AttentionOp">, AttrSizedOperandSegments, InferTypeOpAdaptor,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the gradients of an attend";
  let description = [{
    With N_i and Z_i as of `attend`, the gradients of a number of which dN_i and dZ_i (`gradient`) are
    the gradients with regard to N_i and Z_i. The normalizer is folded into these before, so that the op
    knows none: dN = dO f0 and dZ = -<dO, o> f1 with what `factors` keeps of a row.

    Pairs take their score from vectors that may have a structure, and gradients are those of the plain
    vectors under it, the `leaves`: a gradient as wide as the features never exists. Results are, in
    this order, the gradients of the query's leaves, the key's, the local query's and key's; of the
    value; of the decay; of the initial state and its normalizer. Those of the query's leaves have the
    positions and heads of queries, those of the key's leaves and of the value those of keys, summed up
    over the query heads that a key head serves. `final_gradient` and `final_normalizer_gradient` are those with
    regard to the final state and its normalizer. A decay's gradient is that of its logarithm, as it is given.

    C1: query and key have equal structures, and the value is as wide as dN.
    C2: leaves are the plain vectors under a structure, each once; constants have no gradient.
    C3: local vectors come as a pair of equal structures, with the causal mask and a block.
    C4: a decay needs the causal mask; it is a tensor or a list, not both.
    C5: states need the causal mask; they are f32 of shape [B, H, D, dv], normalizers [B, H, D], and these
        are given only where dZ is.
    C6: decays, states and their gradients are arguments of the attention.
    C7: the mask is `causal` or `full`.

    ```mlir
    polyattn.attention @linear_backward(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                        %v: tensor<?x?x?x32xf32>, %d_o: tensor<?x?x?x32xf32>)
        -> (d_q: tensor<?x?x?x64xf32>, d_k: tensor<?x?x?x64xf32>, d_v: tensor<?x?x?x32xf32>) {
      %a = read %q : tensor<?x?x?x64xf32> -> [64]
      %b = read %k : tensor<?x?x?x64xf32> -> [64]
      %c = read %v : tensor<?x?x?x32xf32> -> [32]
      %dn = read %d_o : tensor<?x?x?x32xf32> -> [32]
      %aa = power %a {degree = 2, symmetric} : [64]
      %bb = power %b {degree = 2, symmetric} : [64]
      %da, %db, %dc = attend_backward query %aa leaves (%a) key %bb leaves (%b) value %c
          gradient %dn causal {grouping = #polyattn.grouping<block>}
        : sym 2 [64], [64], sym 2 [64], [64], [32], [32]
      return %da, %db, %dc : [64], [64], [32]
    }
    ```
  }];
  let arguments = (ins
    PolyAttn_FeatureType:$query, Variadic<PolyAttn_FeatureType>:$query_leaves,
    PolyAttn_FeatureType:$key, Variadic<PolyAttn_FeatureType>:$key_leaves,
    PolyAttn_FeatureType:$value,
    Optional<PolyAttn_FeatureType>:$local_query,
    Variadic<PolyAttn_FeatureType>:$local_query_leaves,
    Optional<PolyAttn_FeatureType>:$local_key, Variadic<PolyAttn_FeatureType>:$local_key_leaves,
    PolyAttn_FeatureType:$numerator_gradient,
    Optional<PolyAttn_FeatureType>:$denominator_gradient,
    Optional<AnyRankedTensor>:$decay, Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$initial_normalizer, Optional<AnyRankedTensor>:$final_gradient,
    Optional<AnyRankedTensor>:$final_normalizer_gradient,
    PolyAttn_MaskAttr:$mask, OptionalAttr<F64Attr>:$score_scale,
    OptionalAttr<DenseF64ArrayAttr>:$decay_factors,
    OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads,
    OptionalAttr<PolyAttn_GroupingAttr>:$grouping, OptionalAttr<I64Attr>:$block,
    OptionalAttr<PolyAttn_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyTypeOf<[PolyAttn_FeatureType, AnyRankedTensor]>>:$gradients);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    double scoreScale() { return getScoreScale() ? getScoreScale()->convertToDouble() : 1.0; }
    bool hasDecay() { return getDecay() || getDecayFactors(); }

    ::mlir::ResultRange getQueryLeafGradients();
    ::mlir::ResultRange getKeyLeafGradients();
    ::mlir::ResultRange getLocalQueryLeafGradients();
    ::mlir::ResultRange getLocalKeyLeafGradients();
    ::mlir::Value getValueGradient();
    /// Null where there is no such operand.
    ::mlir::Value getDecayGradient();
    ::mlir::Value getInitialStateGradient();
    ::mlir::Value getInitialNormalizerGradient();
    /// Whether a result has the positions and heads of keys; else those of queries.
    bool isOfKeys(::mlir::Value gradient);
  }];
}

def PolyAttn_WeightGradientOp : PolyAttn_Op<"weight_gradient",
    [Pure, HasParent<"::polyattn::AttentionOp">, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "the gradient of a weight, a sum over positions";
  let description = [{
    The sum of x dy^T over all pairs (x, dy) that are given, over batch and positions: the gradient of a
    matrix W with y = W^T x. Single vectors are summed up likewise, for a weight that is a vector. It
    belongs to a head of the side that its vectors are of; `return` adds up the heads where all of
    them share the weight. Only `return` takes it.

    C1: there is at least one gradient, and inputs are none or as many.
    C2: all inputs have one width, and so have all gradients.
    C3: only `return` uses the result.

    Example: `%dw = polyattn.weight_gradient (%x, %da), (%y, %db) : ([64], [256]), ([64], [256])`

    Example: `%dbias = polyattn.weight_gradient %da, %db : [256], [256]`
  }];
  let arguments = (ins Variadic<PolyAttn_FeatureType>:$inputs,
                       Variadic<PolyAttn_FeatureType>:$gradients);
  let results = (outs PolyAttn_WeightType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def PolyAttn_DecayGradientOp : PolyAttn_Op<"decay_gradient",
    [Pure, HasParent<"::polyattn::AttentionOp">, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "the gradient of a decay's logarithm, a running sum over positions";
  let description = [{
    The gate of position t decays what the pairs of a query i >= t and a key j < t give, and nothing
    else. With their weights c_ij and the gradients dc_ij of these,

        d(log g_t) = sum of c_ij dc_ij over all j < t <= i

    Going from t to t + 1, the pairs of key t come in and those of query t leave: with the sums k_j over
    the queries after a key (`keys`) and q_i over the keys before a query (`queries`), both of them
    `products` of attends,

        d(log g_0) = <S, dS>        d(log g_{t+1}) = d(log g_t) + k_t - q_t

    An initial state S (`states`) is a key before all positions, and dS its gradient (`state_gradients`). Where
    there are more query heads than the decay has, the gradient is the sum over those that share a gate,
    as `grouping` says; that of one decay for all positions is the sum over positions and batch. A gate that lets nothing pass
    has the gradient 0. Only `return` takes it.

    C1: there are `keys` and `queries`, and they are products of attends: those of queries have the mask causal,
        those of keys the mask anticausal.
    C2: there are as many gradients of states as states, and these are final states of attends, of the states' size.
    C3: the decay, f32 of shape [B, T, H] or [H], and the states are arguments of the attention.
    C4: only `return` uses the result.

    ```mlir
    polyattn.attention @linear_decay(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                     %v: tensor<?x?x?x32xf32>, %g: tensor<?x?x?xf32>,
                                     %d_o: tensor<?x?x?x32xf32>) -> (d_g: tensor<?x?x?xf32>) {
      %a = read %q : tensor<?x?x?x64xf32> -> [64]
      %b = read %k : tensor<?x?x?x64xf32> -> [64]
      %c = read %v : tensor<?x?x?x32xf32> -> [32]
      %dn = read %d_o : tensor<?x?x?x32xf32> -> [32]
      %n, %of_queries = attend query %a key %b value %c decay %g products %dn causal normalize <none>
        : [64], [64], [32], tensor<?x?x?xf32>, [32]
      %dc, %of_keys = attend query %b key %a value %dn decay %g products %c anticausal normalize <none>
        : [64], [64], [32], tensor<?x?x?xf32>, [32]
      %dg = decay_gradient %g queries %of_queries keys %of_keys : tensor<?x?x?xf32>, [1], [1]
      return %dg : tensor<?x?x?xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$decay, Variadic<PolyAttn_FeatureType>:$queries,
      Variadic<PolyAttn_FeatureType>:$keys, Variadic<AnyRankedTensor>:$states,
      Variadic<AnyRankedTensor>:$state_gradients,
      OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads,
      OptionalAttr<PolyAttn_GroupingAttr>:$grouping);
  let results = (outs AnyRankedTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def PolyAttn_KeepOp : PolyAttn_Op<"keep",
    [Pure, HasParent<"::polyattn::AttentionOp">, AllTypesMatch<["pool", "result"]>]> {
  let summary = "the rows of a tensor that the last local block has so far";
  let description = [{
    A call may begin and end inside of a local block. Its queries then see keys of the calls before through
    local vectors, and the state takes in the block once it is full. Until then a pool [P, H, block, d] keeps the block's rows
    of a tensor [B, T, H, d] that keys or values are read from, and [P, H, block] those of a decay [B, T, H]: row i
    of a sequence's slot is that of position i of its block. The call reads the rows before
    `first_position`, and the result is the pool once the call's rows are in it. Rows past the sequence's last position
    are not touched. As states do, pools hold f32, which has all that sequences hold.

    C1: the tensor and the pool are arguments of the attention, different ones.
    C2: the pool is f32 [P, H, block, d] for a tensor [B, T, H, d], or [P, H, block] for a decay [B, T, H].
    C3: nothing else uses the pool, and only `return` uses the result.

    ```mlir
    polyattn.attention @local_decode(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
        %state: tensor<?x?x10x8xf32>, %local_keys: tensor<?x?x16x4xf32>, %local_values: tensor<?x?x16x8xf32>,
        %slots: tensor<?xi32>, %first: tensor<?xi64>)
        -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x10x8xf32> in %state,
            final_local_keys: tensor<?x?x16x4xf32> in %local_keys,
            final_local_values: tensor<?x?x16x8xf32> in %local_values)
        first_position %first slots %slots {
      %a = read %q : tensor<?x?x?x4xf32> -> [4]
      %b = read %k : tensor<?x?x?x4xf32> -> [4]
      %c = read %v : tensor<?x?x?x8xf32> -> [8]
      %aa = power %a {degree = 2, symmetric} : [4]
      %bb = power %b {degree = 2, symmetric} : [4]
      %keys = keep %k in %local_keys : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
      %values = keep %v in %local_values : tensor<?x?x?x8xf32>, tensor<?x?x16x8xf32>
      %o:2 = attend query %aa key %bb value %c local %aa, %bb initial %state
          causal normalize <none> {final_state, block = 16}
        : sym 2 [4], sym 2 [4], [8], sym 2 [4], sym 2 [4], tensor<?x?x10x8xf32>
      return %o#0, %o#1, %keys, %values : [8], tensor<?x?x10x8xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, AnyRankedTensor:$pool);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$tensor `in` $pool attr-dict `:` type($tensor) `,` type($pool)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The positions of the local blocks.
    int64_t getBlock() {
      return ::mlir::cast<::mlir::RankedTensorType>(getPool().getType()).getDimSize(2);
    }
    /// The rows that are kept of a tensor; null where none are.
    static KeepOp of(::mlir::Value tensor);
  }];
}

def PolyAttn_ReturnOp : PolyAttn_Op<"return",
    [Terminator, Pure, HasParent<"::polyattn::AttentionOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the results of an attention";
  let arguments = (ins
    Variadic<AnyTypeOf<[PolyAttn_FeatureType, PolyAttn_WeightType, AnyRankedTensor]>>:$results);
  let assemblyFormat = "$results attr-dict `:` custom<FeatureTypes>(type($results))";
}

#endif // POLYATTN_ATTENTION_OPS
