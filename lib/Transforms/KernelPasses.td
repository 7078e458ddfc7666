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
    Attends of one mask, with rows of one side, go over the positions together: one `kernel` computes
    them. A result that is computed from attends of several kernels is computed by the last of these,
    and the others yield the vectors that it needs. A result that no attend reaches belongs to the first
    kernel that has rows of queries; where there is none, to a kernel without attends.

    Attends with `block_states` go beside anticausal ones with blocks of as many positions, which form
    the same features.

    Each pair of a `weight_gradient` is summed up by the kernel that computes its vectors, and
    `sum_weights` adds what kernels have. What a `decay_gradient` or `add_gradients` reads becomes a
    result of its kernel.

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
}

def CutKernels : Pass<"polyattn-cut-kernels", "::mlir::ModuleOp"> {
  let summary = "say how launches divide the heads of kernels among programs";
  let description = [{
    Gives each kernel without one the attribute `cut` that it needs:

      - `splits`, where a launch may give the features of a head to several programs;
      - else `subsegments`, where it may cut the positions of a causal or anticausal attention with a
        state into segments. Of two segments only one has a prefix, and with two subsegments as many
        programs compute it as compute the results;
      - `cluster`, where the state and weights are more than one multiprocessor keeps;
      - `blocks`, where there is no state and so no block of rows waits for another;
      - `parts`, where gradients of weights are sums over all programs.

    An entry of several kernels is not cut by features or positions, nor are rows of keys. Packed
    sequences, calls with lengths, and states that live in arguments are not cut into blocks either. In a
    module with the attribute `polyattn.invariant` no launch cuts anything but blocks, whose bits do not
    depend on it, and sums of weights.

    Numeric contract: reassociating (the sums over positions, features or batches that are cut).
  }];
  let options = [
    Option<"cutHeads", "cut-heads", "bool", "true",
           "Let a launch cut the features of a head over several programs, where they can be">,
    Option<"cutPositions", "cut-positions", "bool", "false",
           "Let a launch cut the positions of a head over several programs, where they can be and "
           "its features are not cut">,
    Option<"cutBlocks", "cut-blocks", "bool", "true",
           "Give each block of rows of a kernel without a state a program">,
    Option<"cutBlocksOfSums", "cut-blocks-of-sums", "bool", "false",
           "The same where a kernel sums gradients of weights, of which each program has a sum">,
    Option<"subsegments", "subsegments", "int64_t", "1",
           "Programs per segment of the prefix stage where positions are cut">,
    Option<"clusterSize", "cluster-size", "int64_t", "1",
           "The most programs that may share a head's features as a cluster, a power of two">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "GPUDescription().sharedBytesPerBlock",
           "What each of them may keep of states and weights and compute with, in bytes">,
  ];
}

def StepKernels : Pass<"polyattn-step-kernels", "::mlir::ModuleOp"> {
  let summary = "say how calls of few tokens continue from states in arguments";
  let description = [{
    Batches of one token that continue from states in arguments, as a server's are, update these where
    they live, in `@name__step`. With `few-tokens` batches of some more tokens compute no rows that they
    do not have: `@name__few` has them as one block, and stores the state where it lives. Where these
    kernels cannot be, the one for all calls has two forms of its loops. The attribute `steps` says it.

    Numeric contract: exact.
  }];
  let options = [
    Option<"fewTokens", "few-tokens", "int64_t", "0",
           "Calls of at most so many tokens that continue from states in arguments have blocks of this length">,
    Option<"fewestBatches", "fewest-batches", "int64_t", "1",
           "The fewest batches of one token whose features, products with weights, are computed together before "
           "the steps, at most 16: steps of fewer compute their own">,
  ];
}

#endif // POLYATTN_KERNEL_PASSES
