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

#endif // POLYATTN_KERNEL_PASSES
