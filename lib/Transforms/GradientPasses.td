//===- GradientPasses.td - passes that make gradients ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_GRADIENT_PASSES
#define POLYATTN_GRADIENT_PASSES

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"polyattn-differentiate", "::mlir::ModuleOp"> {
  let summary = "an attention becomes its forward and its backward direction";
  let description = [{
    `@name` becomes two entries. `@name__forward` is the same attention, with the values that
    gradients need as further results. `@name__backward` computes gradients. Maps must be inlined.
    Simplify features first, so that both entries have the features of the kernels.

    The results of the forward entry are the same. In addition it gives

    - the output of each attend that gradients need, unless it is a result already (`output0`, ...);
    - for an attend with a denominator or a mean, the factors of its rows (`o_factors`, after the
      output's name);
    - with `state-every=L`, the states after each L positions (`o_states`), for each attend with a
      causal mask, no products among its features, no local vectors and no initial state.

    The backward entry takes the arguments, the saved tensors, and the gradient `d_NAME` of each
    result. It gives `d_NAME` for each argument in `wrt`. Without `wrt` it gives one for every
    argument that reaches a result, except frequencies, tables of positions and first positions.
    Gradients of sequences have their storage type, all others are f32. The attribute `gradient_of`
    says which tensor is the gradient of which, and `saved` lists the saved tensors.

    A final state that is several results has a gradient in each, and the attend takes their sum
    (`add_states`). A decay or a state that several attends take has the sum of their gradients
    (`add_gradients`). An argument that no result depends on has no result `d_NAME`, even if it is
    in `wrt`.

    Each feature op has a rule (`DifferentiableOpInterface`), stated in feature ops. The saved
    factors fold the normalizer into the gradient of the rows. An attend becomes an
    `attend_backward`. Gradients that do not exist are an error: `eps_mode = row_max`, frequencies,
    tables of positions, gradients themselves.

    Numeric contract: exact, up to rounding.

    ```mlir
    %x = read %q : tensor<?x?x?x4xf32> -> [4]
    %y = read %k : tensor<?x?x?x4xf32> -> [4]
    %z = read %v : tensor<?x?x?x8xf32> -> [8]
    %a = exp %x : [4]
    %b = exp %y : [4]
    %o = attend query %a key %b value %z causal normalize <none> : [4], [4], [8]
    return %o : [8]
    ```
    becomes, in the backward entry,
    ```mlir
    %dn = read %d_o : tensor<?x?x?x8xf32> -> [8]
    %x = read %q : tensor<?x?x?x4xf32> -> [4]
    %y = read %k : tensor<?x?x?x4xf32> -> [4]
    %z = read %v : tensor<?x?x?x8xf32> -> [8]
    %a = exp %x : [4]
    %b = exp %y : [4]
    %da, %db, %dz = attend_backward query %a leaves (%a) key %b leaves (%b) value %z
        gradient %dn causal : [4], [4], [4], [4], [8], [8]
    %dy = hadamard %db, %b : [4], [4]
    %dx = hadamard %da, %a : [4], [4]
    return %dx, %dy, %dz : [4], [4], [8]
    ```
  }];
  let options = [
    ListOption<"wrt", "wrt", "std::string",
               "Names of the arguments whose gradients are computed, without it all that have one">,
    Option<"only", "only", "std::string", /*default=*/"",
           "forward or backward: the one entry that is wanted, without it both">,
    Option<"stateEvery", "state-every", "int64_t", /*default=*/"0",
           "Keep states after so many positions each, which the backward entry reads instead of "
           "summing them up again; 0 for none">,
  ];
}

def AccumulateGradients : Pass<"polyattn-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "gradients of weights are added to running sums";
  let description = [{
    Applies to each result that is a sum over positions: the gradient of a weight or of a decay [H].
    The result gets an argument in which it lives, `sum_` and the result's name. It is added to the
    contents of that argument (`plus`). So calls of several batches leave the sum of their
    gradients, in f32. The argument has the same `gradient_of` as the result. All other results stay
    as they are. A gradient that is several results becomes as many ops, each with a running sum of
    its own.

    Numeric contract: one addition in f32 to each sum.

    ```mlir
    polyattn.attention @f__backward(...) -> (d_w: tensor<4x8xf32>) {
      ...
      %dw = weight_gradient (%x, %dy) : ([4], [8])
      return %dw : !polyattn.weight<4x8>
    }
    ```
    becomes
    ```mlir
    polyattn.attention @f__backward(..., %sum_d_w: tensor<4x8xf32>) -> (d_w: tensor<4x8xf32> in %sum_d_w) {
      ...
      %dw = weight_gradient (%x, %dy) plus %sum_d_w : ([4], [8]) plus tensor<4x8xf32>
      return %dw : !polyattn.weight<4x8>
    }
    ```
  }];
}

def ExpandBackward : Pass<"polyattn-expand-backward", "::mlir::ModuleOp"> {
  let summary = "the gradients of an attend as attends";
  let description = [{
    An `attend_backward` becomes attends with other roles, each only if it is used. With v~ = [v, 1]
    and dN~ = [dN, dZ]

        dphi_q = attend(query dN~, key v~, value phi_k)      causal
        dphi_k = attend(query v~, key dN~, value phi_q)      anticausal
        dv     = attend(query phi_k, key phi_q, value dN)    anticausal

    with the anticausal mask each the other way round, and with the full mask all full. This holds
    if the features are the features of the leaves; the rules of the ops between pass their
    gradients on.

        da = attend(query s_q (x) dN~, key s_k (x) v~, value b)    causal
        db = attend(query s_k (x) v~, key s_q (x) dN~, value a)    anticausal

    Local vectors give attends of their own, in which pairs of different blocks have the score 0. In
    the other attends, pairs of one block have it.

    With states the gradients are taken with respect to all features, of which there may be some
    thousands. Rows of a query meet its initial state, transposed, and rows of a key meet the
    gradient of the final state. The sum that a pass over the keys' queries leaves is the gradient
    of the initial state. The magnitude of a score itself (`power` of degree 1 with `abs`) is an
    error, since its slope is the sign of the score.

    A decay's gradient (`decay_gradient`) takes the contributions of pairs on either side of a gate.
    The attend that gives dv~ multiplies its rows by v~ (`products`). The attend that gives the
    gradient of the query's features multiplies its rows by these features. If there is none, the
    forward attend is there once more, with v~ for its values, and its rows are multiplied by dN~.

    If a grouping lets query heads share key heads, the attends that give gradients of keys have
    rows of keys (`of_keys`): sums over these query heads. The states that they leave are such sums
    as well. The full mask, under which keys may have other positions than queries, also has rows of
    keys. Elsewhere keys have the heads and the positions of queries, and vectors of either side are
    queries and keys in the expanded entry.

    Numeric contract: exact, up to rounding.

    ```mlir
    %da, %db, %dz = attend_backward query %a leaves (%a) key %b leaves (%b) value %z gradient %dn full
      : [4], [4], [4], [4], [8], [8]
    ```
    becomes
    ```mlir
    %da = attend query %dn key %z value %b full normalize <none> : [8], [8], [4]
    %db = attend query %z key %dn value %a full normalize <none> {of_keys} : [8], [8], [4]
    %dz = attend query %b key %a value %dn full normalize <none> {of_keys} : [4], [4], [8]
    ```
  }];
}

def DeriveGradientStates : Pass<"polyattn-derive-gradient-states", "::mlir::ModuleOp"> {
  let summary = "an attention becomes the gradients of the states that a segment begins with";
  let description = [{
    `@name` becomes `@name__gradient_states`: the gradients of initial states as defined by
    `--polyattn-differentiate`, as far as they come from the outputs of the segment itself. The
    gradient of the state after it, R_b, is 0. With `decay` of `--polyattn-derive-states` two
    segments together have R_a + decay_a R_b. An attention without initial states is given `state`
    and `state_normalizer` first. Saved tensors have the names that the forward entry of a training
    pair gives them.

    The pass refuses the same attentions as `--polyattn-derive-states`.

    Numeric contract: exact, up to rounding.
  }];
}

#endif // POLYATTN_GRADIENT_PASSES
