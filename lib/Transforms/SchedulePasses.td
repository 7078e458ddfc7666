//===- SchedulePasses.td - passes that say how attends are computed -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_PASSES
#define POLYATTN_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def FindWindows : Pass<"polyattn-find-windows", "::mlir::ModuleOp"> {
  let summary = "windows of attends whose tables of distances end";
  let description = [{
    A score by the distance of positions is zero beyond the end of its table, with `beyond = zero`.
    So are products with it, powers of it, and sums of such scores. An attend with these scores gets
    the `window` that leaves out the zero pairs, or keeps its own window if that is shorter. Time is
    then linear in the length of the call. Means, softmax and `eps_mode = row_max` count pairs with
    the score 0, and are not changed.

    Numeric contract: exact, except for pairs whose other factors are infinite.

    ```mlir
    %c = relative %table {beyond = zero} : 128
    %cq = tensor %c, %q : [1], [64]
    %ck = tensor %c, %k : [1], [64]
    %o = attend query %cq key %ck value %v causal normalize <none> : [1] x [64], [1] x [64], [64]
    ```
    becomes
    ```mlir
    %o = attend query %cq key %ck value %v causal normalize <none> {window = 128}
      : [1] x [64], [1] x [64], [64]
    ```
  }];
}

def LocalizeTables : Pass<"polyattn-localize-tables", "::mlir::ModuleOp"> {
  let summary = "pairs beyond a table of distances go by features";
  let description = [{
    A score that is a number of a table (`relative` with `beyond = last`) times the score of vectors
    with features has one factor for all pairs beyond the table: its last number. These pairs need
    no table, so they have features, and a state. The pass makes the scores with the table local to
    the pairs that are near enough (`sliding`), and gives the others the last number. Time is then
    linear in the length of the call. It is for the masks causal and anticausal, and for attends
    without decays, windows, local vectors and states in or out.

    The window of near pairs is the table's length, rounded up to whole blocks: pairs beyond the
    table have the same score on both sides.

    Numeric contract: exact. The features of far pairs are rounded as those of other states.

    ```mlir
    %c = relative %table {beyond = last, log} : 128
    %cq = tensor %c, %q : [1], [64]
    %ck = tensor %c, %k : [1], [64]
    %o = attend query %cq key %ck value %v causal normalize <none> : [1] x [64], [1] x [64], [64]
    ```
    becomes
    ```mlir
    %zero = constant {value = 0.0, width = 128}
    %numbers = add_vec %zero, %table : [128], 128
    %last = select %numbers {indices = array<i64: 127>} : [128]
    %factor = exp %last : [1]
    %one = constant {value = 1.0, width = 1}
    %fq = tensor %factor, %q : [1], [64]
    %fk = tensor %one, %k : [1], [64]
    %o = attend query %fq key %fk value %v local %cq, %ck causal normalize <none>
        {block = 128, sliding} : [1] x [64], [1] x [64], [64], [1] x [64], [1] x [64]
    ```
  }];
}

def BlockPowers : Pass<"polyattn-block-powers", "::mlir::ModuleOp"> {
  let summary = "symmetric powers in blocks, which a machine forms faster";
  let description = [{
    Symmetric powers of degree two become powers with the same scores and a `block`: tuples of whole
    blocks, with every product inside. They have more features, as some occur twice. The features of
    a tuple are an outer product: fragments for tensor cores are products of a few registers. This
    holds for sequences of bf16. Other types keep their features, which go through memory. If an
    attention asks for a state, its features stay as written.

    Numeric contract: reassociating. Scores are equal up to rounding.

    ```mlir
    %xx = power 2 %x {symmetric} : [32]
    %yy = power 2 %y {symmetric} : [32]
    ```
    becomes, if only scores are asked for
    ```mlir
    %xx = power 2 %x {block = 8, symmetric} : [32]
    %yy = power 2 %y {block = 8, symmetric} : [32]
    ```
  }];
  let options = [
    Option<"block", "block", "int64_t", "8", "Numbers in a block">,
    Option<"growth", "growth", "double", "1.5",
           "How many times as many features there may be after it">,
  ];
}

def ShareFeatures : Pass<"polyattn-share-features", "::mlir::ModuleOp"> {
  let summary = "programs of a cluster that share the features of gradients";
  let description = [{
    A program sums up the gradients of weights over its positions. Sums that are larger than its
    memory would be read and written for each block of positions. So up to `most-parts` programs of
    a cluster share the features, which are the columns of the weights. The entry's body becomes
    that of one of these programs (`polyattn.feature_parts`): weights, and vectors of features, have
    a part of their width. Rows of results are then sums over the programs, and gradients of weights
    have columns of all programs.

    This is for entries in which each program has either all of a value, or features of its own, or
    a term of a sum: features of plain vectors, without normalizers, decays and states of callers.

    Numeric contract: reassociating.

    ```mlir
    %a = read %w : tensor<64x1024xf32> -> 64x1024
    %p = project %x, %a : [64], 64x1024
    %dx = project %dp, %a {transposed} : [1024], 64x1024
    %dw = weight_gradient (%x, %dp) : ([64], [1024])
    ```
    becomes, in an attention with `polyattn.feature_parts = 8`
    ```mlir
    %a = read %w : tensor<64x1024xf32> -> 64x128
    %p = project %x, %a : [64], 64x128
    %dx = project %dp, %a {transposed} : [128], 64x128
    %dw = weight_gradient (%x, %dp) : ([64], [128])
    ```
  }];
  let options = [
    Option<"mostParts", "most-parts", "int64_t", "1", "The most programs that may share features">,
    Option<"bytes", "bytes", "int64_t", "131072",
           "Bytes of the sums of all weights' gradients that a program should have at most">,
  ];
}

def ChooseSchedule : Pass<"polyattn-choose-schedule", "::mlir::ModuleOp"> {
  let summary = "decide how each attention is computed";
  let description = [{
    Gives every `attend` without a schedule one that a cost model chooses from its sizes. The
    schedule has the form (with a state or quadratic, both if T decides), the scoring of pairs
    inside a block, the block and the feature block. With `short-block = N` calls of at most N
    positions are one block if the attend allows it. Maps must be inlined.

    The analysis remark `Schedule` (`--remarks-filter=polyattn.*`) names the choice and its costs.

    Numeric contract: changes the order of sums.
  }];
  let options = [
    Option<"block", "block", "int64_t", "0", "Positions in a block, 0 for the cost model's choice">,
    Option<"featureBlock", "feature-block", "int64_t", "0",
           "Features formed at a time, 0 for the cost model's choice">,
    Option<"l1Bytes", "l1-bytes", "int64_t", "32768",
           "The first level data cache of one core, or the shared memory of a CTA, in bytes">,
    Option<"tensorCores", "tensor-cores", "bool", "false",
           "Blocks for tensor cores, whose products cost by whole fragments">,
    Option<"shortBlock", "short-block", "int64_t", "0",
           "The positions of the longest call that is one block without a state, 0 for no short blocks">,
  ];
}

#endif // POLYATTN_SCHEDULE_PASSES
