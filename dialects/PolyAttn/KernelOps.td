//===- KernelOps.td - which attends one kernel computes -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_KERNEL_OPS
#define POLYATTN_KERNEL_OPS

include "dialects/PolyAttn/GradientOps.td"
include "dialects/PolyAttn/PolyAttnBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PolyAttn_CutAttr : AttrDef<PolyAttn_Dialect, "Cut"> {
  let mnemonic = "cut";
  let summary = "how a launch divides a head of a kernel among programs";
  let description = [{
    Chosen by `--polyattn-cut-kernels`. Without it one program computes a head.

    - `splits`: a launch may split the features of a head over so many programs. `@name__combine`
      adds up their results.
    - `subsegments`: a launch may split the positions of a head into segments. `@name__prefix` sums
      up the keys of each segment, with so many programs for a segment.
    - `prefix_cost`: with `subsegments`, the cost of a position in `@name__prefix`, in percent of
      its cost in all.
    - `cluster`: so many programs run together on a GPU and share the features of a head.
    - `parts`: with gradients of weights, at most so many programs have sums of their own, which
      `@name__reduce` adds up.
    - `prefix_features`: for kernels in the form `chunkwise`, the features in a program of
      `@name__prefix`, which goes over the sums of segments. All of them if it is 0.
    - `sum_blocks`: for kernels in the form `chunkwise`, the blocks of features in a program of
      `@name__sums`, which sums up the keys of a segment. It carries sums alone, where a program of
      queries has blocks of states in memory.
    - `channels`: for the kernels of convolutions and of gradients of filters, the channels of a
      program.
    - `blocks`: each block of rows has a program of its own, in kernels without a state, where no
      block needs the results of another. The form `chunkwise` has such programs without this field.

    Example: `#polyattn.cut<subsegments = 2, prefix_cost = 32>`
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "1">:$splits, DefaultValuedParameter<"int64_t", "0">:$subsegments,
    DefaultValuedParameter<"int64_t", "0">:$prefix_cost, DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"int64_t", "0">:$parts,
    DefaultValuedParameter<"int64_t", "0">:$prefix_features,
    DefaultValuedParameter<"int64_t", "1">:$sum_blocks,
    DefaultValuedParameter<"bool", "false">:$blocks,
    DefaultValuedParameter<"int64_t", "0">:$channels);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The most splits, subsegments and parts.
    static constexpr int64_t kMostPrograms = int64_t(1) << 16, kMostSubsegments = int64_t(1) << 10;
    static constexpr int64_t kMostChannels = 64;
    static constexpr int64_t kLargestCluster = 8;
  }];
}

def PolyAttn_StepsAttr : AttrDef<PolyAttn_Dialect, "Steps"> {
  let mnemonic = "steps";
  let summary = "how calls of few tokens continue from states in arguments";
  let description = [{
    Chosen by `--polyattn-step-kernels`, for an attention whose final states live in arguments.

    - `tokens`: batches of at most so many tokens update their states in place. If it is 0 there is
      no such kernel, and `@name__write_back` stores all final states.
    - `one_by_one`: batches of at most so many tokens take one step after another, in `@name__step`.
      Batches of more, up to `tokens`, are one block in `@name__few`.
    - `few`: the length of that block; 0 without. If there is no `@name__few`, calls of at most so
      many tokens still have blocks of this length.
    - `batches`: `@name__vectors` computes the features of one token for many batches together,
      unless there are fewer batches than this. No such kernel if it is 0.

    Example: `#polyattn.steps<tokens = 16, one_by_one = 8, few = 16, batches = 12>`
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "0">:$tokens,
    DefaultValuedParameter<"int64_t", "1">:$one_by_one,
    DefaultValuedParameter<"int64_t", "0">:$few, DefaultValuedParameter<"int64_t", "0">:$batches);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Batches of a program of `@name__vectors`: a vector of the widest processors, and the rows of a
    /// product of tensor cores.
    static constexpr int64_t kBatchesPerProgram = 16;
    /// The longest block of a call of few tokens.
    static constexpr int64_t kMostTokens = 1024;
  }];
}

def PolyAttn_KernelOp : PolyAttn_Op<"kernel",
    [HasParent<"::polyattn::AttentionOp">, RecursiveMemoryEffects, NoRegionArguments,
     OpAsmOpInterface]> {
  let summary = "attends that one kernel computes";
  let description = [{
    The attends of a region go over the positions together, in the order of their mask, and so do
    the vectors that are computed from them. Vectors that no attend reaches stay outside kernels:
    each kernel computes the ones that it uses. The regions yield the results. Another kernel that
    uses a result reads it from a workspace. Kernels run in the order in which they stand.

    Attends of the region `beside` take their states from a tensor (`block_states`), so that their
    blocks may come in any order. The kernel computes each of these blocks beside the same one of
    its body, and forms the features of both once.

    `--polyattn-form-kernels` makes the ops. `cut` (`--polyattn-cut-kernels`) says how a launch
    divides a head among programs. `steps` (`--polyattn-step-kernels`) says how calls of few tokens
    continue from states in arguments. Neither a kernel nor its `cut` changes the meaning of the ops
    inside.

    `row_type` is the type in which other kernels read this kernel's vectors, f32 without it. bf16 is
    for vectors that these kernels multiply in bf16 alone. Like the type of a tensor it rounds no
    number of the reference.

    C1: each region ends in `kernel_yield`, and the results have the types of the yielded values.
    C2: the attends of a region have one mask and rows of one side (`of_keys`), and all of them have
        `block_states` or none.
    C3: no map is applied: maps are inlined before there are kernels.
    C4: attends of `beside` have `block_states` and rows of queries. Attends of the body have the
        mask anticausal and no `block_states`.
    C5: a convolution, or the gradient of a filter, stands in a kernel of its own, with element-wise
        ops of its channels. `cut` has `channels` there only.
    C6: `row_type` is f32, bf16 or f16.

    ```mlir
    polyattn.attention @two_masks(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
      %a = read %q : tensor<?x?x?x4xf32> -> [4]
      %b = read %k : tensor<?x?x?x4xf32> -> [4]
      %later = kernel @two_masks {
        %x = attend query %a key %b value %b anticausal normalize <none> : [4], [4], [4]
        kernel_yield %x : [4]
      }
      %sum = kernel @two_masks__causal {
        %x = attend query %a key %b value %b causal normalize <none> : [4], [4], [4]
        %y = add %x, %later : [4], [4]
        kernel_yield %y : [4]
      }
      return %sum : [4]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$kernel_name, OptionalAttr<PolyAttn_CutAttr>:$cut,
                       OptionalAttr<PolyAttn_StepsAttr>:$steps, OptionalAttr<TypeAttr>:$row_type);
  let results = (outs Variadic<AnyTypeOf<[PolyAttn_FeatureType, PolyAttn_WeightType, AnyRankedTensor]>>:$results);
  let regions = (region SizedRegion<1>:$body, MaxSizedRegion<1>:$beside);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "polyattn"; }
    bool hasBeside() { return !getBeside().empty(); }
    /// What a region yields.
    static ::mlir::OperandRange yieldOf(::mlir::Region &region);
    /// What a region yields for a result.
    ::mlir::Value getYielded(::mlir::OpResult result);
    /// The result for an operand of a region's `kernel_yield`.
    ::mlir::OpResult getResultOf(::mlir::OpOperand &yielded);
    /// The results of a region.
    ::mlir::ResultRange getResultsOf(::mlir::Region &region);
  }];
}

def PolyAttn_KernelYieldOp : PolyAttn_Op<"kernel_yield",
    [Terminator, Pure, HasParent<"::polyattn::KernelOp">]> {
  let summary = "the results of a kernel's region";
  let arguments = (ins
    Variadic<AnyTypeOf<[PolyAttn_FeatureType, PolyAttn_WeightType, AnyRankedTensor]>>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` custom<FeatureTypes>(type($results)))?";
}

def PolyAttn_SumWeightsOp : PolyAttn_Op<"sum_weights",
    [Pure, HasParent<"::polyattn::AttentionOp">, AttrSizedOperandSegments, InferTypeOpAdaptor,
     OnlyInGradients]> {
  let summary = "the gradient of a weight, the sum of the terms of all kernels";
  let description = [{
    Several kernels may compute terms of one gradient. Each of them has a `weight_gradient` of its
    own terms, which its programs sum up part by part. This op is their sum: over kernels, parts
    and, if heads share the weight, heads. A running sum (`plus`) is added once.

    C1: there is at least one term, and all have one shape.
    C2: terms are results of kernels for a `weight_gradient` without `plus`, and only `return` uses
        the result.

    ```mlir
    polyattn.attention @bias_gradient_of_kernels(%d_o: tensor<?x?x?x64xf32>, %sum: tensor<64xf32>)
        -> (d_bias: tensor<64xf32> in %sum) {
      %dy = read %d_o : tensor<?x?x?x64xf32> -> [64]
      %part = kernel @bias_gradient_of_kernels {
        %p = weight_gradient %dy : [64]
        kernel_yield %p : 64
      }
      %db = sum_weights %part plus %sum : 64 plus tensor<64xf32>
      return %db : 64
    }
    ```
  }];
  let arguments = (ins Variadic<PolyAttn_WeightType>:$terms, Optional<AnyRankedTensor>:$plus);
  let results = (outs PolyAttn_WeightType:$result);
  let assemblyFormat = [{
    $terms (`plus` $plus^)? attr-dict `:` custom<FeatureTypes>(type($terms)) (`plus` type($plus)^)?
  }];
  let hasVerifier = 1;
}

#endif // POLYATTN_KERNEL_OPS
