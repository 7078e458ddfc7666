//===- PolyAttnBase.td - the dialect, its types and attributes ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BASE
#define POLYATTN_BASE

include "dialects/Attributes/KnownAttributes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def PolyAttn_Dialect : Dialect {
  let name = "polyattn";
  let cppNamespace = "::polyattn";
  let summary = "The meaning of a linear-time attention.";
  let description = [{
    A spec is a module of feature maps and attentions. A `polyattn.feature_map` is a small program
    over vectors. The type of each value carries the structure of the features, such as a tensor
    product or a symmetric power. So the feature dimension D and the score form are facts of the
    type. A `polyattn.attention` is an entry point. It names its tensors, applies feature maps to
    queries and keys, and combines them with `polyattn.attend`. The dialect defines the meaning of
    an attention. It does not define how the attention is computed.

    A module with the attribute `polyattn.invariant` requests kernels whose result bits depend on a
    sequence alone. One program computes each head, in one order.

    An attention with the attribute `polyattn.feature_parts = n` has the body of one of n programs
    that share its features (`--polyattn-share-features`). Weights whose columns are features are
    read with one n-th of their columns. Rows of results are the program's terms of a sum, and
    gradients of these weights have its columns.
  }];
  let hasCanonicalizer = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Refuses an op that the dialect does not have, with the nearest name that it has.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
    static constexpr ::llvm::StringLiteral kInvariantAttrName = "polyattn.invariant";
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class PolyAttn_Op<string mnemonic, list<Trait> traits = []>
    : Op<PolyAttn_Dialect, mnemonic, !listconcat([KnownAttributes], traits)>;

/// Ops of an attention's body that kernels take into their regions.
def PolyAttn_InAttentionOrKernel
    : ParentOneOf<["::polyattn::AttentionOp", "::polyattn::KernelOp"]>;

class PolyAttn_Type<string name, string typeMnemonic> : TypeDef<PolyAttn_Dialect, name> {
  let mnemonic = typeMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def PolyAttn_FeatureType : PolyAttn_Type<"Feature", "feature"> {
  let summary = "a vector of features per token and head, with its structure";
  let description = [{
    One vector per batch, position and head. The parameter is the structure of the vector:

    - `[n]`: a plain vector.
    - `A x B`: a tensor (Kronecker) product, the last index fastest.
    - `pow p A`: a tensor power.
    - `sym p A`: a symmetric power: sorted monomials, weighted by the root of their multinomial.
    - `sym p block b A`: the blocked symmetric power (TSPOW).
    - `A + B`: a concatenation.

    Ops of the dialect write the structure alone. Elsewhere it is written
    `!polyattn.feature<[32] x [32]>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "prefix code of the structure">:$code);
  let builders = [TypeBuilder<(ins "const Structure &":$structure), [{
    return $_get($_ctxt, structure.encode());
  }]>];
  let extraClassDeclaration = [{
    /// The widest plain vector.
    static constexpr int64_t kMaxVector = (int64_t(1) << 31) - 1;
    /// The longest code: a structure is a formula that someone wrote.
    static constexpr size_t kMaxCode = 4096;

    Structure getStructure() const { return Structure::decode(getCode()); }
    /// The feature dimension D.
    int64_t getWidth() const { return getStructure().width(); }
    static FeatureType vector(::mlir::MLIRContext *context, int64_t width) {
      return get(context, Structure::vector(width));
    }
  }];
}

def PolyAttn_WeightType : PolyAttn_Type<"Weight", "weight"> {
  let summary = "a weight of a feature map: a matrix or a vector";
  let description = [{
    The shape only: `64x256`. The tensor that the attention passes gives the storage type, and
    whether the weight is shared by all heads or given per head.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "sizes">:$shape);
}

def PolyAttn_StateType : PolyAttn_Type<"State", "state"> {
  let summary = "a state: the sums of features times values, at all positions";
  let description = [{
    `!polyattn.state<2080x64, normalizer>` has 2080 features and values of 64 elements. With
    `normalizer` it also has the sums of the features alone, which a denominator needs.
  }];
  let parameters = (ins "int64_t":$features, "int64_t":$width, "bool":$normalizer);
  let genVerifyDecl = 1;
}

class PolyAttn_Enum<string name, string doc, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, doc, cases> {
  let cppNamespace = "::polyattn";
  let genSpecializedAttr = 0;
}
class PolyAttn_EnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<PolyAttn_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def PolyAttn_GeluForm : PolyAttn_Enum<"GeluForm", "which gelu", [
  I32EnumAttrCase<"Tanh", 0, "tanh">, I32EnumAttrCase<"Erf", 1, "erf">]>;
def PolyAttn_GeluFormAttr : PolyAttn_EnumAttr<PolyAttn_GeluForm, "gelu_form">;

def PolyAttn_EpsPlace : PolyAttn_Enum<"EpsPlace", "where layer_norm adds eps", [
  I32EnumAttrCase<"Inside", 0, "inside">, I32EnumAttrCase<"Outside", 1, "outside">]>;
def PolyAttn_EpsPlaceAttr : PolyAttn_EnumAttr<PolyAttn_EpsPlace, "eps_place">;

def PolyAttn_RopeLayout : PolyAttn_Enum<"RopeLayout", "which elements form a rotated pair", [
  I32EnumAttrCase<"Half", 0, "half">,
  I32EnumAttrCase<"Interleaved", 1, "interleaved">,
  I32EnumAttrCase<"Deinterleave", 2, "deinterleave">]>;
def PolyAttn_RopeLayoutAttr : PolyAttn_EnumAttr<PolyAttn_RopeLayout, "rope_layout">;

def PolyAttn_Beyond : PolyAttn_Enum<"Beyond", "the score of lags that a table does not have", [
  I32EnumAttrCase<"Zero", 0, "zero">, I32EnumAttrCase<"Last", 1, "last">,
  I32EnumAttrCase<"Error", 2, "error">]>;
def PolyAttn_BeyondAttr : PolyAttn_EnumAttr<PolyAttn_Beyond, "beyond">;

def PolyAttn_TriuWeights : PolyAttn_Enum<"TriuWeights", "weights of the off-diagonal products", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Sqrt2", 1, "sqrt2">]>;
def PolyAttn_TriuWeightsAttr : PolyAttn_EnumAttr<PolyAttn_TriuWeights, "triu_weights">;

def PolyAttn_Mask : PolyAttn_Enum<"Mask", "which keys a query sees", [
  I32EnumAttrCase<"Causal", 0, "causal">, I32EnumAttrCase<"Full", 1, "full">,
  I32EnumAttrCase<"Anticausal", 2, "anticausal">]>;
def PolyAttn_MaskAttr : PolyAttn_EnumAttr<PolyAttn_Mask, "mask">;

def PolyAttn_Grouping : PolyAttn_Enum<"Grouping", "which key head serves a query head", [
  I32EnumAttrCase<"Block", 0, "block">, I32EnumAttrCase<"Interleaved", 1, "interleaved">]>;
def PolyAttn_GroupingAttr : PolyAttn_EnumAttr<PolyAttn_Grouping, "grouping">;

def PolyAttn_SharedHeadsAttr : AttrDef<PolyAttn_Dialect, "SharedHeads"> {
  let mnemonic = "shared_heads";
  let summary = "the encoding of sequences whose heads are shared";
  let description = [{
    `tensor<?x?x?x64xf32, #polyattn.shared_heads>` is a sequence [B, T, Hkv, d] of an attention that
    has H heads elsewhere, where Hkv divides H. Head h reads the vectors of head h / (H / Hkv). So
    Mamba-2 shares its B and C, and models with more heads of values than of keys share their
    queries and keys.
  }];
}

def PolyAttn_ProductPrecision : PolyAttn_Enum<"ProductPrecision", "the factors of an attend's products", [
  I32EnumAttrCase<"F32", 0, "f32">, I32EnumAttrCase<"BF16", 1, "bf16">]>;
def PolyAttn_ProductPrecisionAttr : PolyAttn_EnumAttr<PolyAttn_ProductPrecision, "product_precision">;

def PolyAttn_GateHeads : PolyAttn_Enum<"GateHeads", "whose heads the decay belongs to", [
  I32EnumAttrCase<"Kv", 0, "kv">, I32EnumAttrCase<"Q", 1, "q">]>;
def PolyAttn_GateHeadsAttr : PolyAttn_EnumAttr<PolyAttn_GateHeads, "gate_heads">;

def PolyAttn_NormalizerKind : PolyAttn_Enum<"NormalizerKind", "the form of the denominator", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Sum", 1, "sum">,
  I32EnumAttrCase<"Bias", 2, "bias">,
  I32EnumAttrCase<"Softmax", 3, "softmax">]>;
def PolyAttn_EpsMode : PolyAttn_Enum<"EpsMode", "the mode of eps, absolute or relative to the row", [
  I32EnumAttrCase<"Absolute", 0, "absolute">, I32EnumAttrCase<"RowMax", 1, "row_max">]>;
def PolyAttn_Reduce : PolyAttn_Enum<"Reduce", "sum or mean over the keys", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">]>;

def PolyAttn_NormalizerAttr : AttrDef<PolyAttn_Dialect, "Normalizer"> {
  let mnemonic = "normalizer";
  let summary = "the denominator of an attention";
  let description = [{
    With N the numerator and Z = sum of the scores of a row:

      none                       o = N
      sum, eps = e               o = N / (Z + e)              (primer; FLA; BASED)
      bias, bias = b             o = N / (b + Z)              (PolySketchFormer: b = 1)
      softmax                    o = N / Z with exp(score) in place of each score

    `eps` of `sum` and `bias` of `bias` have no default. `eps_mode = row_max` adds e times the row's
    largest score instead of e (retention, FPA). `reduce = mean` first divides N and Z by the number
    of visible keys (FLatten, PolaFormer). `guard_below = t, guard_add = a` adds a where |Z| <= t
    (Performer). Both are given, or none. `min_denom = m` is a floor on the denominator's magnitude;
    the sign is kept. `softmax` has no fields. Kernels subtract the largest score of a row before
    they take exponentials. This changes no result and keeps all numbers in range.

    Example: `#polyattn.normalizer<sum, eps = 1.000000e-06>`
  }];
  let parameters = (ins
    EnumParameter<PolyAttn_NormalizerKind>:$kind,
    APFloatParameter<"">:$eps,
    EnumParameter<PolyAttn_EpsMode>:$eps_mode,
    APFloatParameter<"">:$bias,
    EnumParameter<PolyAttn_Reduce>:$reduce,
    APFloatParameter<"">:$guard_below,
    APFloatParameter<"">:$guard_add,
    APFloatParameter<"">:$min_denom);
  let extraClassDeclaration = [{
    /// Rows are sums, divided by nothing.
    static NormalizerAttr getNone(::mlir::MLIRContext *context) {
      return get(context, NormalizerKind::None, /*eps=*/0.0, EpsMode::Absolute, /*bias=*/0.0,
                 Reduce::Sum, /*guardBelow=*/0.0, /*guardAdd=*/0.0, /*minDenom=*/0.0);
    }
    /// Whether a row is divided by a number that its scores give; else they are not summed up.
    bool hasDenominator() const { return getKind() != NormalizerKind::None; }
    bool isSoftmax() const { return getKind() == NormalizerKind::Softmax; }
    /// Whether that number takes the row's largest score, too.
    bool needsRowMax() const { return getEpsMode() == EpsMode::RowMax; }
    /// Whether a running state says enough of a row: sums over its keys, no more.
    bool allowsState() const { return !needsRowMax() && !isSoftmax(); }
    /// How many numbers a row's gradient takes of its denominator (`factors` of an attend).
    int64_t countFactors() const { return isSoftmax() ? 1 : 2; }
    /// Whether sums are divided by the number of visible keys first.
    bool isMean() const { return getReduce() == Reduce::Mean; }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "NormalizerKind":$kind, "double":$eps, "EpsMode":$epsMode,
      "double":$bias, "Reduce":$reduce, "double":$guardBelow, "double":$guardAdd,
      "double":$minDenom), [{
    auto number = [](double value) { return ::llvm::APFloat(value); };
    return $_get($_ctxt, kind, number(eps), epsMode, number(bias), reduce, number(guardBelow),
                 number(guardAdd), number(minDenom));
  }]>];
}

def PolyAttn_ScheduleForm : PolyAttn_Enum<"ScheduleForm", "how pairs of distant positions meet", [
  I32EnumAttrCase<"State", 0, "state">,
  I32EnumAttrCase<"Quadratic", 1, "quadratic">,
  I32EnumAttrCase<"Both", 2, "both">,
  I32EnumAttrCase<"Chunkwise", 3, "chunkwise">]>;
def PolyAttn_ScheduleDiagonal : PolyAttn_Enum<"ScheduleDiagonal", "scores inside a block", [
  I32EnumAttrCase<"Scores", 0, "scores">, I32EnumAttrCase<"Features", 1, "features">]>;

def PolyAttn_ScheduleAttr : AttrDef<PolyAttn_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how one attention is computed";
  let description = [{
    Chosen by `--polyattn-choose-schedule`, or written by a user in its place.

    - `form = state`: blocks meet through S (PolySketchFormer, section 3.1).
    - `form = quadratic`: all pairs by scores, tile by tile (FPA's tiled form).
    - `form = both`: quadratic for fewer than `quadratic_below` positions.
    - `form = chunkwise`: each block is computed by itself, from the state before its segment and
      the scores of the segment's pairs. Earlier stages compute the sums of segments and, from
      these, the states. Under the full mask all blocks read the sum of all segments. Calls of fewer
      than `quadratic_below` positions are one segment.
    - `diagonal`: pairs of one block by the score form, or by inner products of features.
    - `block`: positions in a block, 1 to 1024. The blocks of one entry are as long as the shortest
      block of its attends, and no longer than the block of a local kernel.
    - `feature_block`: features that are formed at a time, 1 or more.
    - `short_blocks`: ascending lengths, none if left out. A call of at most so many positions is
      one block of that length, with all pairs by scores and no state. They are not for the full
      mask, nor where a state is given or asked for. They are no longer than the block of a local
      kernel. An entry has the short blocks that all its attends have.
    - `contracted`: the value is one of the two factors of the key's features, as in gradients of
      squares of scores. The state is symmetric in both factors and has each of their products once.
      A query's product with the state is contracted with the query's own factor. Left out where it
      does not apply.
    - `segment`: with `chunkwise`, the positions of a segment: a multiple of `block` and of the
      block of a local kernel, at most 65536.
    - `states`: with `chunkwise`, the type in which the states before segments are stored; f32 if
      left out.

    The schedule does not say how features are stored: powers are symmetric with and without one.

    ```
    #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 128,
                       quadratic_below = 0, short_blocks = [16, 32]>
    ```
  }];
  let parameters = (ins
    EnumParameter<PolyAttn_ScheduleForm>:$form,
    EnumParameter<PolyAttn_ScheduleDiagonal>:$diagonal,
    "int64_t":$block, "int64_t":$feature_block, "int64_t":$quadratic_below,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$short_blocks,
    DefaultValuedParameter<"bool", "false">:$contracted,
    DefaultValuedParameter<"int64_t", "0">:$segment,
    OptionalParameter<"::mlir::FloatType">:$states);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Each is a program of its own, and code for it.
    static constexpr int64_t kMaxShortBlocks = 8;
    static constexpr int64_t kLongestSegment = 65536;
  }];
}

#endif // POLYATTN_BASE
