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
    A score by the distance of positions is zero where its table ends, with `beyond = zero`. So is a
    product with it, a power of it, and a sum of such scores. An attend with such scores gets the
    `window` that leaves out these pairs, or keeps its own one where that is shorter: time is then
    linear in the length of the call. Means, softmax and `eps_mode = row_max` count pairs with the score 0,
    and are left as they are.

    Numeric contract: exact, but for pairs whose other factors are infinite.

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

def BlockPowers : Pass<"polyattn-block-powers", "::mlir::ModuleOp"> {
  let summary = "symmetric powers in blocks, which a machine forms faster";
  let description = [{
    Symmetric powers of degree two become those of the same scores with a `block`: tuples of whole
    blocks, every product inside. They have more features, as some stand twice, but those of a
    tuple are an outer product: tensor cores' fragments of it are products of few registers. That is
    so with sequences of bf16; those of other types keep their features, which go through memory.
    Where an attention asks for a state, its features stay as they are written.

    Numeric contract: reassociating. Scores are equal up to rounding.

    ```mlir
    %xx = power %x {degree = 2, symmetric} : [32]
    %yy = power %y {degree = 2, symmetric} : [32]
    ```
    becomes, as far as scores are asked for
    ```mlir
    %xx = power %x {block = 8, degree = 2, symmetric} : [32]
    %yy = power %y {block = 8, degree = 2, symmetric} : [32]
    ```
  }];
  let options = [
    Option<"block", "block", "int64_t", "8", "Numbers in a block">,
    Option<"growth", "growth", "double", "1.5",
           "How many times as many features there may be after it">,
  ];
}

def ChooseSchedule : Pass<"polyattn-choose-schedule", "::mlir::ModuleOp"> {
  let summary = "decide how each attention is computed";
  let description = [{
    Gives every `attend` without a schedule one that a cost model chooses from its sizes: the
    form with a state or the quadratic one (both where T decides), how pairs inside a block are
    scored, the block and the feature block. With `short-block = N` calls of at most N positions are
    one block where the attend allows it. Maps must be inlined.

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
           "Blocks as tensor cores want them, whose products cost by whole fragments">,
    Option<"shortBlock", "short-block", "int64_t", "0",
           "The positions of the longest call that is one block without a state, 0 for no short blocks">,
  ];
}

#endif // POLYATTN_SCHEDULE_PASSES
