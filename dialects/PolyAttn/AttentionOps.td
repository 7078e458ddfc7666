//===- AttentionOps.td - feature maps and entry points --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ATTENTION_OPS
#define POLYATTN_ATTENTION_OPS

include "dialects/PolyAttn/PolyAttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def PolyAttn_FeatureMapOp : PolyAttn_Op<"feature_map",
    [Symbol, IsolatedFromAbove, SingleBlock,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a named feature map: a small program over one vector";
  let description = [{
    The first arguments are vectors (`[64]`), the others weights (`64x256`). The body is a program
    of feature ops that ends in `yield`. Ops inside it are written without the dialect's prefix.

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
  let summary = "an entry point: the tensors of one attention and the results computed from them";
  let description = [{
    Arguments are tensors. The spec chooses their names, which tools and generated headers use.
    Sizes of batch, position and head are dynamic:

    | tensor | meaning |
    |---|---|
    | `tensor<?x?x?x64xf32>` | queries, keys, values: [B, T, H, d] |
    | `tensor<?x?x?x64xf32, #polyattn.shared_heads>` | the same with Hkv heads that the H heads share |
    | `tensor<64x256xf32>` | a weight shared by all heads |
    | `tensor<?x64x256xf32>` | a weight per head |
    | `tensor<64xf32>` | a vector shared by all heads |
    | `tensor<?x64xf32>` | a vector per head |
    | `tensor<?x?x64xf32>` | a vector per position and head [T, H, d] |
    | `tensor<?x1x64xf32>` | a vector per position, never a weight of one row per head |

    `first_position %first` names an argument `tensor<?xi64>` or `tensor<?xi32>`, [B]. It holds the
    position that the first row of a call has in its sequence; without it that is 0. It is for calls
    that continue from a state. Everything that depends on positions counts from there:

    - `rope`;
    - tables [T, H, d], which then have any number of rows L and are read from row `first` on;
    - `reduce = mean`: row i has seen first + i + 1 keys under the causal mask, and the keys of the
      call from i on under the anticausal one;
    - local blocks: calls begin at a multiple of the block, unless the rows of the block are kept
      (`keep`).

    One clause serves the whole entry, as one call has one place in its sequence. Maps need no
    argument for it.

    A result that is a final state may live in the argument that is its initial state,
    `final: tensor<?x?x64x64xf32> in %state`: a call updates it in place.

    `slots %slots` names an argument `tensor<?xi32>` or `tensor<?xi64>`, [B], which makes all states
    pools [P, H, D, dv]. Batch b continues from row slots[b] of a pool and leaves its final state
    there. No other row is touched, and no two batches have the same row. If slots[b] is below 0,
    the batch has no state: its results are zero and none of its inputs are read. With
    `first_position`, a batch that begins at 0 is a new sequence. Its state begins with zeros,
    whatever its row holds.

    `lengths %lengths` names an argument of the same form. Only the first lengths[b] positions of
    batch b count, and the results of the others are zero.

    `packed %offsets` names an argument `tensor<?xi64>` or `tensor<?xi32>`, [N + 1]. Sequences [1,
    T, H, d] then hold N concatenated sequences. Sequence n has the positions from offsets[n] to
    offsets[n + 1] - 1. Each is attended to alone, as if it were a call of its own: positions,
    masks, decays and local blocks start again with it. Each has a state, a normalizer, a slot and a
    first position: [N, ...] instead of [B, ...]. Queries and keys have the same positions. Tables
    [T, H, d] have any number of rows L and are read by the position in the sequence.

    An entry that computes gradients describes its tensors. For each of them that is a gradient,
    `gradient_of` has the name of the argument or result that it is the gradient of. `saved` lists
    the arguments that the differentiated entry gave as results.

    C1: every tensor has one of these shapes, or the shape of a decay or a state.
    C2: sequences [B, T, H, d] have one storage type, f32, bf16 or f16. Every other argument holds
        that type or f32, saved arguments and gradients included. Decays and states are f32.
    C3: the body ends in `return`, whose operands, at least one, fit the result types.
    C4: names of arguments and results are identifiers of C and distinct.
    C5: the arguments that `first_position`, `slots`, `lengths` and `packed` name are
        `tensor<?xi64>` or `tensor<?xi32>`. They are different ones, and the body does not use them.
        No other argument holds whole numbers.
    C6: `gradient_of` has names of arguments or results, and `saved` has names of arguments.
    C7: a result that lives in an argument has the argument's type, and no other result lives there.
        The result is the final state, or its normalizer, of the one attend whose initial state, or
        normalizer, the argument is. Or it is the rows that are kept in the argument, or the
        gradient whose running sum the argument is.
    C8: with `slots` there is a state, and every initial and every final state lives in a pool, a
        final one as one result. With `slots` or `lengths` all attends are causal. If they have
        local vectors, whose blocks reach into the keys of earlier calls, these rows are kept.
    C9: packed sequences have offsets, and no `lengths`.
    C10: rows are kept with `slots` and `first_position`, in pools that results live in. Every
        attend then has local vectors, with blocks of as many positions as the pools keep, or a
        window that the rings have room for. An attend with a state may stand beside windows. The
        kept tensors are all those that the keys and values are read from, and their decays, each
        once.
    C11: a running sum (`plus`) is an f32 argument of the type of the result to which it is added.
        The result is the gradient of a weight or of a decay [H], and nothing else uses the sum.
    C12: if there is a `kernel`, all attends, states and gradients of weights stand in kernels.
        Kernels have different names. A vector or a final state that is returned is the result of a
        kernel.
    C13: a tensor with an encoding is a sequence with `shared_heads`. A result that has it is summed
        up by `sum_heads`, and no other is. Beside such tensors attends have H heads of keys, so that
        `grouping = block` changes nothing. `interleaved` is refused. Some argument has H heads.

    ```mlir
    polyattn.attention @linear(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                               %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
      %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
      %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
      %values = read %v : tensor<?x?x?x64xf32> -> [64]
      %o = attend query %phi_q key %phi_k value %values
          causal normalize <sum, eps = 1.0e-6> {grouping = block}
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
    /// Whether states, or rows that are kept, live in arguments: what one call leaves there for the next.
    bool hasStatesInPlace();
    /// Whether the local blocks of all attends are multiples of so many positions.
    bool hasLocalBlocksOf(int64_t positions);
  }];
}

def PolyAttn_ReadOp : PolyAttn_Op<"read",
    [Pure, HasParent<"::polyattn::AttentionOp">]> {
  let summary = "the vector of this token and head, or the weight of this head";
  let description = [{
    C1: the shape of the tensor is one of the shapes that `polyattn.attention` lists, and fits the
        result.
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

def PolyAttn_ReturnOp : PolyAttn_Op<"return",
    [Terminator, Pure, HasParent<"::polyattn::AttentionOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the results of an attention";
  let arguments = (ins
    Variadic<AnyTypeOf<[PolyAttn_FeatureType, PolyAttn_WeightType, AnyRankedTensor]>>:$results);
  let assemblyFormat = "$results attr-dict `:` custom<FeatureTypes>(type($results))";
}

#endif // POLYATTN_ATTENTION_OPS
