//===- StateOps.td - the states that attends read -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_STATE_OPS
#define POLYATTN_STATE_OPS

include "dialects/PolyAttn/PolyAttnBase.td"
include "dialects/PolyAttn/StateUpdateInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// An op that gives the state of a recurrence. The operands are a key, a value, the transition's
/// logarithms, an initial state and an initial normalizer, of which all but the first two may lack.
class PolyAttn_StateUpdateOp<string mnemonic>
    : PolyAttn_Op<mnemonic, [Pure, PolyAttn_InAttentionOrKernel, AttrSizedOperandSegments,
                             InferTypeOpAdaptor, PolyAttn_StateUpdateInterface]> {
  let results = (outs PolyAttn_StateType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      if (parseStateUpdate(parser, result, getOperandSegmentSizesAttrName(result.name)))
        return ::mlir::failure();
      return inferParsedTypes<$cppClass>(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      printStateUpdate(printer, *this, getOperandSegmentSizesAttrName());
    }
    ::mlir::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> loc, Adaptor op,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      return inferState(context, loc, op.getProperties().operandSegmentSizes, op.getOperands(),
                        op.getNormalizer(), kNeedsDecay, results);
    }
  }];
}

def PolyAttn_StateOp : PolyAttn_StateUpdateOp<"state"> {
  let summary = "the sum over keys of features times values";
  let description = [{
    The recurrence of an attend, as a value. Under the mask `causal` and with the decay g

        S_i = g_i S_{i-1} + key_i value_i^T
        z_i = g_i z_{i-1} + key_i                  with `normalizer`

    under `anticausal` the same from the last position on, S_i = g_{i+1} S_{i+1} + key_i value_i^T,
    and under `full` the sum over all keys. The result stands for the sums at all positions. An
    attend that reads it (`attend`, operand `state`) takes the sums that reach its row. `initial`,
    the decay, `gate_heads`, `grouping` and `of_keys` mean the same as for the attend whose state
    this is. `--polyattn-name-states` gives one of these ops to each attend that its schedule
    computes through a state. `--polyattn-merge-states` lets several attends read one.

    `block = L` is the block of the readers' local kernel: keys come into the state once their block
    of L positions is complete. With `sliding` a key comes in once it is L positions away from the
    row. Both say when a key may be added, and do not change the sums.
    `last_apart` says how kernels keep the sums. The last element of the value is the weight of the
    features and has a column of its own, as a normalizer has.

    C1: a decay needs an order, with the form and the shape of `attend` C6 and C7.
    C2: an initial state has the shape that `attend` C8 says, and needs an order.
    C3: there are at most 2^24 features.
    C4: `block` is positive and needs an order; `sliding` needs a block.
    C5: `last_apart` is for values of at least one element and without `normalizer`.

    Example: `%s = polyattn.state key %b value %c causal {normalizer} : sym 2 [4], [8]`
  }];
  let arguments = (ins
    PolyAttn_FeatureType:$key, PolyAttn_FeatureType:$value, Optional<AnyRankedTensor>:$decay,
    Optional<AnyRankedTensor>:$initial_state, Optional<AnyRankedTensor>:$initial_normalizer,
    PolyAttn_MaskAttr:$mask, UnitAttr:$normalizer, OptionalAttr<DenseF64ArrayAttr>:$decay_factors,
    OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads, OptionalAttr<PolyAttn_GroupingAttr>:$grouping,
    UnitAttr:$initial_transposed, UnitAttr:$of_keys, OptionalAttr<I64Attr>:$block,
    UnitAttr:$sliding, UnitAttr:$last_apart);
  let extraClassDeclaration = [{
    static constexpr bool kNeedsDecay = false;
    bool hasDecayOfFeatures() { return false; }
    /// Whether both are sums over the same keys with the same decay, whatever is summed up.
    bool hasRecurrenceOf(StateOp other);
  }];
}

def PolyAttn_ChannelStateOp : PolyAttn_StateUpdateOp<"channel_state"> {
  let summary = "the sum over keys of features times values, each feature with a decay of its own";
  let description = [{
    The recurrence of gated linear attention (Yang and others 2024, equation 3). With g a vector of
    numbers, one for each feature,

        S_i = diag(g_i) S_{i-1} + key_i value_i^T
        z_i = g_i * z_{i-1} + key_i                element by element, with `normalizer`

    The decay has the logarithms of g. `initial`, `gate_heads` and `grouping` mean the same as for
    an attend. The score of a pair is not a number times <query_i, key_j>. It is the sum over
    features c of `query_ic key_jc g_{j+1,c} ... g_{i,c}`.

    C1: the decay is f32 of shape [B, T, H, D] for D features.
    C2: an initial state has the shape that `attend` C8 says; the decay and the initial state are
        arguments.
    C3: there are at most 2^24 features.
    C4: the mask is causal.

    ```mlir
    polyattn.attention @gated(%k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>, %g: tensor<?x?x?x64xf32>)
        -> (o: tensor<?x?x?x64xf32>) {
      %b = read %k : tensor<?x?x?x64xf32> -> [64]
      %c = read %v : tensor<?x?x?x64xf32> -> [64]
      %s = channel_state key %b value %c decay %g causal : [64], [64], tensor<?x?x?x64xf32>
      %o = attend query %b key %b value %c decay %g state %s causal normalize <none>
        : [64], [64], [64], tensor<?x?x?x64xf32>, !polyattn.state<64x64>
      return %o : [64]
    }
    ```
  }];
  let arguments = (ins
    PolyAttn_FeatureType:$key, PolyAttn_FeatureType:$value, AnyRankedTensor:$decay,
    Optional<AnyRankedTensor>:$initial_state, Optional<AnyRankedTensor>:$initial_normalizer,
    PolyAttn_MaskAttr:$mask, UnitAttr:$normalizer, OptionalAttr<PolyAttn_GateHeadsAttr>:$gate_heads,
    OptionalAttr<PolyAttn_GroupingAttr>:$grouping);
  let extraClassDeclaration = [{
    static constexpr bool kNeedsDecay = true;
    bool hasDecayOfFeatures() { return true; }
    ::std::optional<::llvm::ArrayRef<double>> getDecayFactors() { return ::std::nullopt; }
    bool getInitialTransposed() { return false; }
    bool getLastApart() { return false; }
    bool getOfKeys() { return false; }
    ::std::optional<uint64_t> getBlock() { return ::std::nullopt; }
    bool getSliding() { return false; }
  }];
}

class PolyAttn_StateViewOp<string mnemonic, list<Trait> traits = []>
    : PolyAttn_Op<mnemonic, !listconcat([Pure, PolyAttn_InAttentionOrKernel,
                                         InferTypeOpAdaptor], traits)> {
  let results = (outs PolyAttn_StateType:$result);
  let hasCustomAssemblyFormat = 1;
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      if (parseStateOperands(parser, result))
        return ::mlir::failure();
      return inferParsedTypes<$cppClass>(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) { printStateView(printer, *this); }
  }];
}

def PolyAttn_TransposeStateOp : PolyAttn_StateViewOp<"transpose_state"> {
  let summary = "a state of features that were values, and the other way round";
  let description = [{
    The sum of value_i key_i^T in place of key_i value_i^T. Gradients of keys and of values read one
    state from both sides.

    C1: the state has no normalizer.

    Example: `%t = polyattn.transpose_state %s : !polyattn.state<64x16>`
  }];
  let arguments = (ins PolyAttn_StateType:$state);
}

def PolyAttn_StateRowsOp : PolyAttn_StateViewOp<"state_rows"> {
  let summary = "the sums of some of a state's features";
  let description = [{
    The rows of `rows` features from `first` on. If a key is a concatenation, the state of one of
    its parts consists of such rows.

    C1: the state has no normalizer, and all of the rows.

    Example: `%r = polyattn.state_rows %s {first = 17, rows = 136} : !polyattn.state<153x64>`
  }];
  let arguments = (ins PolyAttn_StateType:$state, I64Attr:$first, I64Attr:$rows);
}

def PolyAttn_ScaleStateOp : PolyAttn_StateViewOp<"scale_state"> {
  let summary = "a state times a number";
  let description = [{
    C1: the state has no normalizer.
    C2: the number is finite and not 0.

    Example: `%h = polyattn.scale_state %s {factor = 0.5} : !polyattn.state<64x16>`
  }];
  let arguments = (ins PolyAttn_StateType:$state, F64Attr:$factor);
  let hasVerifier = 1;
}

def PolyAttn_StackStatesOp : PolyAttn_StateViewOp<"stack_states"> {
  let summary = "the state of a concatenation of keys";
  let description = [{
    The features of all states, concatenated, over the same values.

    C1: the states have no normalizer, and values of one width.

    Example: `%s = polyattn.stack_states %a, %b : !polyattn.state<64x16>, !polyattn.state<1x16>`
  }];
  let arguments = (ins Variadic<PolyAttn_StateType>:$states);
}

def PolyAttn_JoinStatesOp : PolyAttn_StateViewOp<"join_states"> {
  let summary = "the state of a concatenation of values";
  let description = [{
    The values of all states, concatenated, for the same features.

    C1: the states have no normalizer, and as many features each.

    Example: `%s = polyattn.join_states %a, %b : !polyattn.state<136x64>, !polyattn.state<136x1>`
  }];
  let arguments = (ins Variadic<PolyAttn_StateType>:$states);
}

def PolyAttn_UnfoldPairsOp : PolyAttn_StateViewOp<"unfold_pairs"> {
  let summary = "the state that is symmetric in a factor of its features and in its values";
  let description = [{
    The operand C is a state of the features `sym 2 [n]` of a vector k, and of values c of m
    elements. The result is the state of the features k x c and the values k; with `factor_last`, of
    the features c x k. The sum of `k_a c_r k_b` over the keys is the sum in C for the pair of a and
    b, divided by the weight of the pair. Gradients of squares of scores have such states
    (`contracted` in the schedule). n(n+1)/2 sums of m elements stand for n m sums of n.

    C1: the state has n(n+1)/2 features for some n, and no normalizer.

    Example: `%u = polyattn.unfold_pairs %c : !polyattn.state<136x65>`
  }];
  let arguments = (ins PolyAttn_StateType:$state, UnitAttr:$factor_last);
  let extraClassDeclaration = [{
    /// n, of so many features; 0 where there is none.
    static int64_t factorOf(int64_t pairs);
  }];
}

#endif // POLYATTN_STATE_OPS
