//===- FeaturePasses.td - passes on the features of attends ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURE_PASSES
#define POLYATTN_FEATURE_PASSES

include "mlir/Pass/PassBase.td"

def InlineMaps : Pass<"polyattn-inline-maps", "::mlir::ModuleOp"> {
  let summary = "put the body of a feature map where it is applied";
  let description = [{
    Every `apply` becomes a copy of its map's body. Tensors among the operands are read first, each
    once in an attention. Maps without uses are erased, so that an attention is the whole program of
    its vectors.

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

def SimplifyFeatures : Pass<"polyattn-simplify-features", "::mlir::ModuleOp"> {
  let summary = "smaller feature programs with the same scores";
  let description = [{
    Brings the vectors of every `attend` to a simple form. Maps must be inlined.

    The first rewrites keep the features themselves, and also apply to maps that are left. Factors
    move out of products, powers, projections without bias and selections, and are collected.
    Constants fold, nested products flatten, and nested sums that come first, so that terms are added
    in their order. Equal vectors are computed once. A projection of a projection becomes one with
    the product of the weights, if that takes no more operations at a position.

    If an attention asks for no state, further rewrites keep only the scores. Query and key are
    rewritten together. An attend with a schedule is rewritten as well, since a schedule does not
    say how features are stored:

      - a product of powers of equal vectors becomes one symmetric power, whose features
        are about p! times fewer: `tensor %a, %a`, `power` of `power`, `power` of `tensor`;
      - constant factors of a product and parts of a concatenation with the factor zero go;
        constants and equal parts of a concatenation are added up, products among them in any order;
        nested ones are flattened;
      - a part of a concatenation keeps its factor on the query's side only;
      - the remaining factor goes to the attend's `score_scale`.

    The pass makes no rewrite after which less would be known of the sign or degree of the scores.

    Numeric contract: reassociating. Scores are equal up to rounding.

    ```mlir
    %h = scale %x {factor = 0.5} : [16]
    %hh = tensor %h, %h : [16], [16]
    %g = scale %y {factor = 0.5} : [16]
    %gg = tensor %g, %g : [16], [16]
    %o = attend query %hh key %gg value %v causal normalize <bias, bias = 1.0>
      : [16] x [16], [16] x [16], [32]
    ```
    becomes
    ```mlir
    %xx = power 2 %x {symmetric} : [16]
    %yy = power 2 %y {symmetric} : [16]
    %o = attend query %xx key %yy value %v causal normalize <bias, bias = 1.0>
      {score_scale = 6.25e-2} : sym 2 [16], sym 2 [16], [32]
    ```
  }];
}

#endif // POLYATTN_FEATURE_PASSES
