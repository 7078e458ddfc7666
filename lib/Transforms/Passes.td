//===- Passes.td - passes from polyattn to polyattn -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TRANSFORMS_PASSES
#define POLYATTN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InlineMaps : Pass<"polyattn-inline-maps", "::mlir::ModuleOp"> {
  let summary = "put the body of a feature map where it is applied";
  let description = [{
    Every `apply` becomes a copy of its map's body. Tensors among the operands are read
    first, each once in an attention. Maps that nobody applies any more are erased, so that
    an attention is the whole program of its vectors.

    Numeric contract: exact.

    ```mlir
    polyattn.feature_map @square(%x: [4], %w: 4x8) {
      %p = project %x, %w : [4], 4x8
      %phi = hadamard %p, %p : [8], [8]
      yield %phi : [8]
    }
    // in an attention
    %phi_q = apply @square(%q, %w) : tensor<?x?x?x4xf32>, tensor<4x8xf32> -> [8]
    %phi_k = apply @square(%k, %w) : tensor<?x?x?x4xf32>, tensor<4x8xf32> -> [8]
    ```
    becomes
    ```mlir
    %x = read %q : tensor<?x?x?x4xf32> -> [4]
    %theta = read %w : tensor<4x8xf32> -> 4x8
    %p = project %x, %theta : [4], 4x8
    %phi_q = hadamard %p, %p : [8], [8]
    %y = read %k : tensor<?x?x?x4xf32> -> [4]
    %r = project %y, %theta : [4], 4x8
    %phi_k = hadamard %r, %r : [8], [8]
    ```
  }];
}

def ChooseSchedule : Pass<"polyattn-choose-schedule", "::mlir::ModuleOp"> {
  let summary = "decide how each attention is computed";
  let description = [{
    Gives every `attend` without a schedule one that a cost model chooses from its sizes: the form with a
    state or the quadratic one (both where T decides), how pairs inside a block are scored,
    the block and the feature block. Maps must be inlined.

    Numeric contract: changes the order of sums.
  }];
  let options = [
    Option<"block", "block", "int64_t", "0", "Positions in a block, 0 for the cost model's choice">,
    Option<"featureBlock", "feature-block", "int64_t", "0",
           "Features formed at a time, 0 for the cost model's choice">,
  ];
}

#endif // POLYATTN_TRANSFORMS_PASSES
