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
    `@name` becomes `@name__forward`, the same with what gradients need as further results, and
    `@name__backward`, which computes gradients. Maps must be inlined; features are simplified before, so
    that both directions have the features of the kernels.

    The forward entry gives, beside its results, the output of each attend that gradients need and that is
    no result anyway (`output0`, ...), and with a denominator or a mean the factors of its rows
    (`o_factors`, after the output's name). Its results are the same. With `state-every=L` it also gives the
    states after each L positions (`o_states`), of each attend whose mask is causal, whose features are no products, and
    which has neither local vectors nor an initial state.

    The backward entry takes the arguments, what was kept, and the gradient `d_NAME` of each result. It
    gives `d_NAME` for each argument in `wrt`, without it for all that reach a result but frequencies,
    tables of positions and first positions: sequences in their storage type, all else in f32. Its
    attribute `gradient_of` says what is the gradient of what, `saved` what was kept. A final state that is
    several results has a gradient in each, and the attend takes their sum (`add_states`). A decay or a state that
    several attends take has the sum of their gradients (`add_gradients`). An argument that no result depends on
    has no result `d_NAME`, be it in `wrt` or not.

    Each feature op has a rule (`DifferentiableOpInterface`), stated in feature ops; the normalizer is folded
    into the gradient of the rows, by the factors kept; an attend becomes an `attend_backward`. What has no
    gradient is an error: `eps_mode = row_max`, frequencies, tables of positions, gradients themselves.

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
           "Keep states after so many positions each, of which the backward entry reads what it would "
           "have to sum up otherwise; 0 for none">,
  ];
}

def AccumulateGradients : Pass<"polyattn-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "gradients of weights are added to what their results hold";
  let description = [{
    Each result of an attention that is a sum over positions, the gradient of a weight or of a decay [H],
    gets an argument in which it lives, `sum_` and the result's name, and is added to what that holds (`plus`).
    So calls of several batches leave the sum of their gradients, in f32. `gradient_of` says of the
    argument what it does of the result. All other results stay as they are. A gradient that is several results
    becomes as many ops, each with a running sum of its own.

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
    An `attend_backward` becomes attends with other roles, each only where it is used: with
    v~ = [v, 1] and dN~ = [dN, dZ]

        dphi_q = attend(query dN~, key v~, value phi_k)      causal
        dphi_k = attend(query v~, key dN~, value phi_q)      anticausal
        dv     = attend(query phi_k, key phi_q, value dN)    anticausal

    with the anticausal mask each the other way round, and with the full mask all full. So it is where
    the features are those of the leaves, and the rules of the ops between hand their gradients on.
    Where there are products among the features, the gradient of a leaf a that meets b comes from scores: the slope of the score in <a, b> is the
    score of vectors s_q and s_k made of the leaves, that of <a, b>^3 is 3 <a, b>^2, and

        da = attend(query s_q (x) dN~, key s_k (x) v~, value b)    causal
        db = attend(query s_k (x) v~, key s_q (x) dN~, value a)    anticausal

    Local vectors give attends of their own, in which pairs of different blocks have the score 0, as
    those of one block have it in the others.

    With states the gradients are those of all features, of which there may be some thousands: rows of a
    query meet its initial state, transposed, those of a key the gradient of the final one, and what a
    sweep over the keys' queries leaves is the gradient of the initial state. The
    magnitude of a score itself is an error.

    A decay's gradient (`decay_gradient`) takes what pairs give on either side of a gate: the
    attend that gives dv~ multiplies its rows by v~ (`products`), that which gives the gradient of the
    query's features its own by these. Where none does, the forward attend, with v~ for its values, is
    there once more, and its rows are multiplied by dN~.

    Where a grouping lets query heads share those of keys, the attends that give gradients of keys
    have rows of keys (`of_keys`), sums over these query heads, and so are the states that they leave.
    So they have with the full mask, which allows other positions of keys than of queries. Elsewhere
    keys have the heads and the positions of queries, and vectors of either side are queries and
    keys in the expanded entry.

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
    `@name` becomes `@name__gradient_states`: the gradients of initial states as `--polyattn-differentiate`
    says them, as far as they come from the outputs of the segment itself. The gradient of the state
    after it, R_b, is 0: with `decay` of `--polyattn-derive-states` two segments together have R_a + decay_a
    R_b. An attention without initial states is given `state` and `state_normalizer` first. What is saved has the
    names that the forward entry of a training pair gives it.

    The same is refused as in `--polyattn-derive-states`.

    Numeric contract: exact, up to rounding.
  }];
}

#endif // POLYATTN_GRADIENT_PASSES
