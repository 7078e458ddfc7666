//===- KernelPasses.td - passes on the kernels of an attention ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_KERNEL_PASSES
#define POLYATTN_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"polyattn-form-kernels", "::mlir::ModuleOp"> {
  let summary = "say which attends each kernel computes";
  let description = [{
    Attends of one mask, with rows of one side, go over the positions together: one `kernel`
    computes them. If a result is computed from attends of several kernels, the last of these
    computes it, and the others yield the vectors that it needs. A result that no attend reaches
    belongs to the first kernel that has rows of queries, or to a kernel without attends if there is
    none.

    Attends with `block_states` go beside anticausal attends with blocks of as many positions, which
    form the same features.

    The kernel that computes the vectors of a `weight_gradient`'s pair sums it up, and `sum_weights`
    adds the sums of all kernels. Operands of a `decay_gradient` or `add_gradients` become results
    of their kernels. A `sum_heads` has a kernel of its own behind the one that computes its operand.

    With `pass-row-sums`, a sum over the elements of a row of queries that several kernels need has
    one place, too: the first of them computes it and yields it. The others load one number of a row
    in place of the vectors that it sums. Without the option each kernel computes it.

    With `pass-keys`, a kernel `@name__keys` computes vectors that the keys of an attend in the form
    `chunkwise` are formed of, if its programs would compute them often and for long: for the sums of
    each block of features, and for each block of queries that sees the key. Such a vector is a leaf
    of the key's structure, such as a projection.

    Numeric contract: reassociating (sums of weights' gradients over kernels).

    ```mlir
    %o = attend query %a key %b value %c state %s causal ...
    %p = attend query %b key %a value %d state %t anticausal ...
    %sum = add %o, %p
    return %sum
    ```
    becomes
    ```mlir
    %0 = kernel @name { %s = state ... %o = attend ... kernel_yield %o }
    %1 = kernel @name__anticausal { %t = state ... %p = attend ... %sum = add %0, %p  kernel_yield %sum }
    return %1
    ```
  }];
  let options = [
    Option<"passRowSums", "pass-row-sums", "bool", "false",
           "Sums over elements of rows of queries pass from kernel to kernel">,
    Option<"passKeys", "pass-keys", "bool", "false",
           "Vectors that keys are formed of pass from a kernel of their own">,
  ];
}

def CutKernels : Pass<"polyattn-cut-kernels", "::mlir::ModuleOp"> {
  let summary = "say how launches divide the heads of kernels among programs";
  let description = [{
    Gives each kernel without one the attribute `cut` that it needs:

      - `splits`, if a launch may give the features of a head to several programs;
      - else `subsegments`, if it may split the positions of a causal or anticausal attention with a
        state into segments. Of two segments only one has a prefix. With two subsegments as many
        programs compute it as compute the results;
      - `cluster`, if one multiprocessor cannot keep the state and weights (`shared-bytes`);
      - `blocks`, if there is no state, so that no block of rows waits for another;
      - `parts`, if gradients of weights are sums over all programs.

    An entry of several kernels is not split by features or positions, nor are rows of keys. Packed
    sequences, calls with lengths, and states that live in arguments are not split into blocks
    either. In a module with the attribute `polyattn.invariant` launches split only blocks and sums
    of weights. Splitting blocks does not change bits.

    Numeric contract: reassociating (the sums over positions, features or batches that are split).
  }];
  let options = [
    Option<"cutHeads", "cut-heads", "bool", "true",
           "Let a launch split the features of a head over several programs, where they can be">,
    Option<"cutPositions", "cut-positions", "bool", "false",
           "Let a launch split the positions of a head over several programs, where they can be and "
           "its features are not split">,
    Option<"cutBlocks", "cut-blocks", "bool", "true",
           "Give each block of rows of a kernel without a state a program">,
    Option<"cutBlocksOfSums", "cut-blocks-of-sums", "bool", "false",
           "The same where a kernel sums gradients of weights, of which each program has a sum">,
    Option<"subsegments", "subsegments", "int64_t", "1",
           "Programs per segment of the prefix stage where positions are split">,
    Option<"clusterSize", "cluster-size", "int64_t", "1",
           "The most programs that may share a head's features as a cluster, a power of two">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "GPUDescription().sharedBytesPerBlock",
           "The memory of each of them for states, weights and computation, in bytes">,
  ];
}

def StepKernels : Pass<"polyattn-step-kernels", "::mlir::ModuleOp"> {
  let summary = "say how calls of few tokens continue from states in arguments";
  let description = [{
    Batches of one token that continue from states in arguments, as in a server, update the states
    in place, in `@name__step`. Batches of up to `one-by-one` tokens take such steps one after
    another, with the bits of as many calls. With `few-tokens`, batches of some more tokens compute
    no rows beyond their own: `@name__few` has them as one block, and stores the state in place.
    Where these kernels are not possible, the kernel for all calls has two forms of its loops. The
    attribute `steps` records the choice.

    Numeric contract: exact.
  }];
  let options = [
    Option<"fewTokens", "few-tokens", "int64_t", "0",
           "Calls of at most so many tokens that continue from states in arguments have blocks of this length">,
    Option<"oneByOne", "one-by-one", "int64_t", "1",
           "Calls of at most so many tokens that continue from states in arguments take one step after another">,
    Option<"fewestBatches", "fewest-batches", "int64_t", "1",
           "The fewest batches of one token whose features, products with weights, are computed together before "
           "the steps, at most 16: steps of fewer compute their own">,
  ];
}

#endif // POLYATTN_KERNEL_PASSES
