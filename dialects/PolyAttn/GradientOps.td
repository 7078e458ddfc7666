//===- GradientOps.td - gradients of attends, weights and decays ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_GRADIENT_OPS
#define POLYATTN_GRADIENT_OPS

include "dialects/PolyAttn/PolyAttnBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"


def PolyAttn_AttendBackwardOp : PolyAttn_Op<"attend_backward",
    [Pure, HasParent<"::polyattn::AttentionOp">, AttrSizedOperandSegments, InferTypeOpAdaptor,
     OnlyInGradients, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the gradients of an attend";
  let description = [{
    With N_i and Z_i as in `attend`, this op gives the gradients of a number. `gradient` has the
    number's gradients with respect to N_i and Z_i: dN_i and dZ_i. The normalizer is folded into
    these before, so the op has none: `dN = dO f0` and `dZ = -<dO, o> f1` with the `factors` of the
    row. Rows of a softmax are sums of exp(score - l) v, where l is the logarithm of Z that is kept.
    They are written as `exp_score` of a score that has -l as a part. Then `dN = dO` and
    `dZ = -<dO, o>`.

    Pairs take their score from vectors that may have a structure. Gradients are taken with respect
    to the plain vectors under it, the `leaves`: a gradient as wide as the features never exists.
    The results are, in this order, the gradients of

    - the leaves of the query, the key, the local query and the local key;
    - the value;
    - the decay;
    - the initial state and its normalizer.

    Gradients of the query's leaves have the positions and heads of queries. Gradients of the key's
    leaves and of the value have the positions and heads of keys, summed up over the query heads
    that a key head serves. `final_gradient` and `final_normalizer_gradient` are given with respect
    to the final state and its normalizer. A decay's gradient is taken with respect to its
    logarithm, as the decay is given. `block_states` are the states that the attend has kept after
    each `state_every` positions. `window` and `sliding` are the attend's.

    C1: query and key have equal structures, and the value is as wide as dN.
    C2: leaves are the plain vectors under a structure, each once; constants have no gradient.
    C3: local vectors come as a pair of equal structures, with the mask causal or anticausal and a
        block.
    C4: a decay needs the mask causal or anticausal. It is a tensor or a list, not both. Decays of
        each feature, [B, T, Hg, D], are refused: they have no gradients yet.
    C5: states need the mask causal or anticausal. They are f32 of shape [B, H, D, dv], where a last
        dimension of 1 may be left out. Normalizers are [B, H, D], and are given only where dZ is.
    C6: decays, states and their gradients are arguments of the attention. States and their
        gradients may be sums of arguments (`add_states`).
    C7: `block_states` and `state_every` come together, with the causal mask and without local
        vectors or an initial state. They are an argument f32 [B, T, H, W], with the W of `attend`
        (BlockStates.h).
    C8: a `window` has 1 to 2^31 - 1 positions, without states or local vectors.
    C9: `sliding` needs local vectors, without decays or states.

    ```mlir
    polyattn.attention @linear_backward(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                        %v: tensor<?x?x?x32xf32>, %d_o: tensor<?x?x?x32xf32>)
        -> (d_q: tensor<?x?x?x64xf32>, d_k: tensor<?x?x?x64xf32>, d_v: tensor<?x?x?x32xf32>) {
      %a = read %q : tensor<?x?x?x64xf32> -> [64]
      %b = read %k : tensor<?x?x?x64xf32> -> [64]
      %c = read %v : tensor<?x?x?x32xf32> -> [32]
      %dn = read %d_o : tensor<?x?x?x32xf32> -> [32]
      %aa = power 2 %a {symmetric} : [64]
      %bb = power 2 %b {symmetric} : [64]
      %da, %db, %dc = attend_backward query %aa leaves (%a) key %bb leaves (%b) value %c
          gradient %dn causal {grouping = block}
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
    Optional<AnyRankedTensor>:$final_normalizer_gradient, Optional<AnyRankedTensor>:$block_states,
    PolyAttn_MaskAttr:$mask, OptionalAttr<F64Attr>:$score_scale,
    OptionalAttr<DenseF64ArrayAttr>:$decay_factors,
    OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads,
    OptionalAttr<PolyAttn_GroupingAttr>:$grouping, OptionalAttr<I64Attr>:$block,
    OptionalAttr<PolyAttn_ScheduleAttr>:$schedule, OptionalAttr<I64Attr>:$state_every,
    OptionalAttr<I64Attr>:$window, UnitAttr:$sliding,
    OptionalAttr<PolyAttn_ProductPrecisionAttr>:$precision);
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
    [Pure, PolyAttn_InAttentionOrKernel, AttrSizedOperandSegments, InferTypeOpAdaptor,
     OnlyInGradients]> {
  let summary = "the gradient of a weight, a sum over positions";
  let description = [{
    The sum of x dy^T over all given pairs (x, dy), over batch and positions: the gradient of a
    matrix W with y = W^T x. Single vectors are summed up likewise, for a weight that is a vector.
    The result belongs to a head of the side that its vectors are of. `return` adds up the heads if
    all of them share the weight. Only `return` takes the result, directly or by way of a kernel and
    `sum_weights`. A running sum (`plus`) is added once: the sum of earlier calls, as optimizers
    accumulate gradients.

    C1: there is at least one gradient, and inputs are none or as many.
    C2: all inputs have one width, and so have all gradients.
    C3: only `return` uses the result, or `kernel_yield`.

    Example: `%dw = polyattn.weight_gradient (%x, %da), (%y, %db) : ([64], [256]), ([64], [256])`

    Example: `%dbias = polyattn.weight_gradient %da, %db : [256], [256]`

    ```mlir
    polyattn.attention @bias_gradient(%d_o: tensor<?x?x?x64xf32>, %sum: tensor<64xf32>)
        -> (d_bias: tensor<64xf32> in %sum) {
      %dy = read %d_o : tensor<?x?x?x64xf32> -> [64]
      %db = weight_gradient %dy plus %sum : [64] plus tensor<64xf32>
      return %db : 64
    }
    ```
  }];
  let arguments = (ins Variadic<PolyAttn_FeatureType>:$inputs,
                       Variadic<PolyAttn_FeatureType>:$gradients,
                       Optional<AnyRankedTensor>:$plus);
  let results = (outs PolyAttn_WeightType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def PolyAttn_SumHeadsOp : PolyAttn_Op<"sum_heads",
    [Pure, PolyAttn_InAttentionOrKernel, SameOperandsAndResultType, OnlyInGradients]> {
  let summary = "the gradient of a vector that heads share, a sum over these";
  let description = [{
    An argument [B, T, Hkv, d] with `shared_heads` is read by H heads. Each of them has a gradient
    of its own, and the argument's is their sum:

        dx[b, t, g] = sum over h with h / (H / Hkv) = g of dx_h[b, t]

    The result has Hkv heads. Only `return` takes it, as a result with `shared_heads`, or
    `kernel_yield`.

    C1: the vector is plain.
    C2: only `return` uses the result, or `kernel_yield`.
    C3: in a kernel the vector is what another kernel yields: programs of one head each have
        computed it.

    ```mlir
    polyattn.attention @shared_gradient(%d_o: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>)
        -> (d_q: tensor<?x?x?x64xf32, #polyattn.shared_heads>) {
      %dy = read %d_o : tensor<?x?x?x64xf32> -> [64]
      %b = read %k : tensor<?x?x?x64xf32> -> [64]
      %n = attend query %dy key %b value %b causal normalize <none> : [64], [64], [64]
      %dq = sum_heads %n : [64]
      return %dq : [64]
    }
    ```
  }];
  let arguments = (ins PolyAttn_FeatureType:$vector);
  let results = (outs PolyAttn_FeatureType:$result);
  let assemblyFormat = "$vector attr-dict `:` custom<FeatureType>(type($vector))";
  let hasVerifier = 1;
}

def PolyAttn_DecayGradientOp : PolyAttn_Op<"decay_gradient",
    [Pure, HasParent<"::polyattn::AttentionOp">, AttrSizedOperandSegments, InferTypeOpAdaptor,
     OnlyInGradients]> {
  let summary = "the gradient of a decay's logarithm, a running sum over positions";
  let description = [{
    The gate of position t decays the contributions of the pairs of a query i >= t and a key j < t,
    and nothing else. With their weights c_ij and the gradients dc_ij of these,

        d(log g_t) = sum of c_ij dc_ij over all j < t <= i

    From t to t + 1, the pairs of key t come in and the pairs of query t leave. With the sums k_j
    over the queries after a key (`keys`) and q_i over the keys before a query (`queries`), both
    `products` of attends,

        d(log g_0) = <S, dS>        d(log g_{t+1}) = d(log g_t) + k_t - q_t

    An initial state S (`states`) is a key before all positions, and dS its gradient
    (`state_gradients`). If there are more query heads than the decay has, the gradient is the sum
    over the heads that share a gate, as `grouping` says. The gradient of one decay for all
    positions is the sum over positions and batch. A gate that lets nothing pass has the gradient 0.
    Only `return` takes the result. A running sum (`plus`) is added once to the gradient of one
    decay for all positions.

    C1: there are `keys` and `queries`, and they are products of attends. Those attends have the
        mask causal for `queries` and anticausal for `keys`.
    C2: there are as many gradients of states as states. The gradients are final states of attends,
        of the size of the states.
    C3: the decay, f32 of shape [B, T, H] or [H], and the states are arguments of the attention. A
        state may be a sum of arguments (`add_states`).
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
      Variadic<AnyRankedTensor>:$state_gradients, Optional<AnyRankedTensor>:$plus,
      OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads,
      OptionalAttr<PolyAttn_GroupingAttr>:$grouping);
  let results = (outs AnyRankedTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def PolyAttn_AddStatesOp : PolyAttn_Op<"add_states",
    [Pure, HasParent<"::polyattn::AttentionOp">, OnlyInGradients]> {
  let summary = "the sum of states that are given";
  let description = [{
    A final state that is two results has a gradient in each of them, and an attend's gradients are
    made of their sum. No tensor holds the sum: kernels add the tensors when they load the state.

    C1: there are two or more states, f32 arguments of the attention of shape [B, H, D, dv], or
        normalizers [B, H, D], as the result's type says. A last dimension of 1 may be left out.
    C2: only `attend`, `state`, `attend_backward` and `decay_gradient` take the result, as a state.

    ```mlir
    polyattn.attention @state_gradients(%q: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>,
                                        %d_first: tensor<?x?x64x32xf32>, %d_second: tensor<?x?x64x32xf32>)
        -> (d_v: tensor<?x?x?x32xf32>) {
      %a = read %q : tensor<?x?x?x64xf32> -> [64]
      %c = read %v : tensor<?x?x?x32xf32> -> [32]
      %s = add_states %d_first, %d_second : tensor<?x?x64x32xf32>, tensor<?x?x64x32xf32> -> tensor<?x?x64x32xf32>
      %o = attend query %a key %a value %c initial %s anticausal normalize <none>
        : [64], [64], [32], tensor<?x?x64x32xf32>
      return %o : [32]
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$states);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$states attr-dict `:` type($states) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The arguments whose sum a state is: those that are added, or the state itself.
    static ::llvm::SmallVector<::mlir::BlockArgument> termsOf(::mlir::Value state);
    /// Whether a state is an argument or a sum of some.
    static bool isGiven(::mlir::Value state);
  }];
}

def PolyAttn_AddGradientsOp : PolyAttn_Op<"add_gradients",
    [Pure, HasParent<"::polyattn::AttentionOp">, SameOperandsAndResultType, OnlyInGradients]> {
  let summary = "the sum of gradients of one decay or state";
  let description = [{
    A decay or a state that several attends take has a gradient from each, and their sum is its
    gradient. For a decay, `polyattn-expand-backward` makes one `decay_gradient` of all products.
    For a state, it makes a sum of final states.

    C1: there are two or more gradients of one decay, of `attend_backward` ops with equal
        `gate_heads` and `grouping`, or of one state, of ops with equal `gate_heads`. Final states
        of attends may stand in place of these.
    C2: only `return` takes the result.

    ```mlir
    polyattn.attention @shared_decay(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                     %g: tensor<?x?x?xf32>, %d_o: tensor<?x?x?x64xf32>)
        -> (d_g: tensor<?x?x?xf32>) {
      %a = read %q : tensor<?x?x?x64xf32> -> [64]
      %b = read %k : tensor<?x?x?x64xf32> -> [64]
      %dn = read %d_o : tensor<?x?x?x64xf32> -> [64]
      %da, %db, %dv, %dg0 = attend_backward query %a leaves (%a) key %b leaves (%b) value %b
          gradient %dn decay %g causal : [64], [64], [64], [64], [64], [64], tensor<?x?x?xf32>
      %dc, %dd, %dw, %dg1 = attend_backward query %b leaves (%b) key %a leaves (%a) value %a
          gradient %dn decay %g causal : [64], [64], [64], [64], [64], [64], tensor<?x?x?xf32>
      %dg = add_gradients %dg0, %dg1 : tensor<?x?x?xf32>
      return %dg : tensor<?x?x?xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$gradients attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // POLYATTN_GRADIENT_OPS
