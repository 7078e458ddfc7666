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

def SimplifyFeatures : Pass<"polyattn-simplify-features", "::mlir::ModuleOp"> {
  let summary = "smaller feature programs with the same scores";
  let description = [{
    Brings the vectors of every `attend` to a simple form. Maps must be inlined.

    First what keeps the features themselves, in maps that are left, too: factors move out of
    products, powers, projections without bias and selections and gather, constants fold,
    nested sums and products flatten, equal vectors are computed once. A projection of a
    projection is one with the product of the weights, where that takes no more operations at
    a position.

    Then, where an attention asks for no state, what keeps the scores. Query and key are
    rewritten together, also where a schedule is given, which says nothing of how features are
    stored:

      - a product of powers of equal vectors becomes one symmetric power, whose features
        are about p! times fewer: `tensor %a, %a`, `power` of `power`, `power` of `tensor`;
      - constant factors of a product and parts of a concatenation with the factor zero go,
        constants and equal parts of a concatenation are added up, products among them in
        whatever order, nested ones are flattened;
      - a part of a concatenation keeps its factor on the query's side only;
      - the factor that is left goes to the attend's `score_scale`.

    A rewrite after which less would be known of the scores' sign or degree is not made.

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
    %xx = power %x {degree = 2, symmetric} : [16]
    %yy = power %y {degree = 2, symmetric} : [16]
    %o = attend query %xx key %yy value %v causal normalize <bias, bias = 1.0>
      {score_scale = 6.25e-2} : sym 2 [16], sym 2 [16], [32]
    ```
  }];
}

def DeriveDecode : Pass<"polyattn-derive-decode", "::mlir::ModuleOp"> {
  let summary = "an attention becomes one that continues sequences in place";
  let description = [{
    `@name` becomes `@name__decode`: each attend begins with a state in a pool and leaves its final state
    there. States that the entry has become pools; others are added as arguments `state` and
    `state_normalizer`, with results `final` and `final_normalizer` that live in them. Further arguments
    are `slots`, the rows of the pools, `first_position` where the entry has none, and `lengths`, how
    many of a call's positions count, unless sequences are packed. Tables of positions have any number of rows then.

    Where attends have local vectors, whose blocks reach into the calls before, the rows of the last block are kept:
    of each sequence that keys and values are read from (`local_keys`, `local_values`) and of decays (`local_decay`), with
    results that live in these pools. All attends have blocks of one length then.

    Maps that are inlined and simplified before have the smaller states. What has no state that could be
    continued is an error: masks that are not causal, `eps_mode = row_max`, odd powers of |score|, more than
    2^24 features, local blocks of other lengths beside each other.

    Numeric contract: exact.

    ```mlir
    polyattn.attention @linear(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>)
        -> (o: tensor<?x?x?x8xf32>) {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %y = read %k : tensor<?x?x?x4xf32> -> [4]
      %z = read %v : tensor<?x?x?x8xf32> -> [8]
      %o = attend query %x key %y value %z causal normalize <none> : [4], [4], [8]
      return %o : [8]
    }
    ```
    becomes
    ```mlir
    polyattn.attention @linear__decode(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
        %state: tensor<?x?x4x8xf32>, %slots: tensor<?xi32>, %first_position: tensor<?xi64>, %lengths: tensor<?xi32>)
        -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x4x8xf32> in %state)
        first_position %first_position slots %slots lengths %lengths {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %y = read %k : tensor<?x?x?x4xf32> -> [4]
      %z = read %v : tensor<?x?x?x8xf32> -> [8]
      %o:2 = attend query %x key %y value %z initial %state causal normalize <none> {final_state}
        : [4], [4], [8], tensor<?x?x4x8xf32>
      return %o#0, %o#1 : [8], tensor<?x?x4x8xf32>
    }
    ```
  }];
}

def DeriveStates : Pass<"polyattn-derive-states", "::mlir::ModuleOp"> {
  let summary = "an attention becomes one that gives what a segment adds to its states";
  let description = [{
    `@name` becomes `@name__states`, of a segment of a sequence: its results are the final states of all
    attends that begin with zeros, by the names that the attention has for them or `final` and
    `final_normalizer`. For each attend with a decay there is an argument `decay_before` and a result
    `decay`, [B, H, 1]: that argument times the product of all decays of the segment, the final state
    of an attend that begins with it and to whose state no key adds anything. With S_a and S_b of
    two segments, the second one's `decay` with a `decay_before` of 1, both together have S_b + decay S_a.

    Rows are computed that nobody asks for; `--polyattn-drop-rows` leaves them out.

    What has no state is an error: masks that are not causal, `eps_mode = row_max`, odd powers of |score|,
    more than 2^24 features. Local vectors are no part of a state.

    Numeric contract: exact. A product of decays below what f32 holds is 0.

    ```mlir
    polyattn.attention @gated(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
        %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x8xf32>) {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %y = read %k : tensor<?x?x?x4xf32> -> [4]
      %z = read %v : tensor<?x?x?x8xf32> -> [8]
      %o = attend query %x key %y value %z decay %g causal normalize <none>
        : [4], [4], [8], tensor<?x?x?xf32>
      return %o : [8]
    }
    ```
    becomes, rows being dropped,
    ```mlir
    polyattn.attention @gated__states(%k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
        %g: tensor<?x?x?xf32>, %decay_before: tensor<?x?x1xf32>)
        -> (final: tensor<?x?x4x8xf32>, decay: tensor<?x?x1xf32>) {
      %y = read %k : tensor<?x?x?x4xf32> -> [4]
      %z = read %v : tensor<?x?x?x8xf32> -> [8]
      %o:2 = attend query %y key %y value %z decay %g causal normalize <none> {final_state}
        : [4], [4], [8], tensor<?x?x?xf32>
      %0 = constant {value = 0.0, width = 1}
      %p:2 = attend query %0 key %0 value %0 decay %g initial %decay_before causal normalize <none>
          {final_state} : [1], [1], [1], tensor<?x?x?xf32>, tensor<?x?x1xf32>
      return %o#1, %p#1 : tensor<?x?x4x8xf32>, tensor<?x?x1x1xf32>
    }
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

def DropRows : Pass<"polyattn-drop-rows", "::mlir::ModuleOp"> {
  let summary = "attends that are asked for their states alone have no queries";
  let description = [{
    Where nobody uses the rows of an attend, its key stands for its query, local vectors are gone, and
    nothing is known of the scores. Ops and arguments that nobody uses then go, but for those of clauses
    (`first_position`, `packed`). Where gates are those of query heads, which keys may share, queries stay:
    they say how many heads there are.

    Numeric contract: exact.

    ```mlir
    %o:2 = attend query %a key %b value %c causal normalize <none> {final_state} : [4], [4], [8]
    return %o#1 : tensor<?x?x4x8xf32>
    ```
    becomes
    ```mlir
    %o:2 = attend query %b key %b value %c causal normalize <none> {final_state} : [4], [4], [8]
    return %o#1 : tensor<?x?x4x8xf32>
    ```
  }];
}

def Differentiate : Pass<"polyattn-differentiate", "::mlir::ModuleOp"> {
  let summary = "an attention becomes its forward and its backward direction";
  let description = [{
    `@name` becomes `@name__forward`, the same with what gradients need as further results, and
    `@name__backward`, which computes gradients. Maps must be inlined; features are simplified before, so
    that both directions have the features of the kernels.

    The forward entry gives, beside its results, the output of each attend that gradients need and that is
    no result anyway (`output0`, ...), and with a denominator or a mean the factors of its rows
    (`o_factors`, after the output's name). Its results are the same.

    The backward entry takes the arguments, what was kept, and the gradient `d_NAME` of each result. It
    gives `d_NAME` for each argument in `wrt`, without it for all that reach a result but frequencies,
    tables of positions and first positions: sequences in their storage type, all else in f32. Its
    attribute `gradient_of` says what is the gradient of what, `saved` what was kept.

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
  ];
}

def ExpandBackward : Pass<"polyattn-expand-backward", "::mlir::ModuleOp"> {
  let summary = "the gradients of an attend as attends";
  let description = [{
    An `attend_backward` becomes attends with other roles, each only where it is used: with
    v~ = [v, 1] and dN~ = [dN, dZ]

        dphi_q = attend(query dN~, key v~, value phi_k)      causal
        dphi_k = attend(query v~, key dN~, value phi_q)      anticausal
        dv     = attend(query phi_k, key phi_q, value dN)    anticausal

    and with the full mask all are full. So it is where the features are those of the leaves, and the
    rules of the ops between hand their gradients on. Where there are products among the features,
    the gradient of a leaf a that meets b comes from scores: the slope of the score in <a, b> is the
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
    have rows of keys (`of_keys`), sums over these query heads. With states, or without a grouping, an
    expanded entry has as many heads and positions of keys as of queries, whatever its grouping
    allowed: vectors of either side are queries and keys in it.

    Numeric contract: exact, up to rounding.

    ```mlir
    %da, %db, %dz = attend_backward query %a leaves (%a) key %b leaves (%b) value %z gradient %dn full
      : [4], [4], [4], [4], [8], [8]
    ```
    becomes
    ```mlir
    %da = attend query %dn key %z value %b full normalize <none> : [8], [8], [4]
    %db = attend query %z key %dn value %a full normalize <none> : [8], [8], [4]
    %dz = attend query %b key %a value %dn full normalize <none> : [4], [4], [8]
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

def SetStorage : Pass<"polyattn-set-storage", "::mlir::ModuleOp"> {
  let summary = "change what tensors hold";
  let description = [{
    Queries, keys, values and weights hold the given type from here on, and so do results that
    held what these did. Decays, states, rotary frequencies and the factors of rows hold f32, as does
    everything that is computed.

    Numeric contract: reduces precision, or raises it.
  }];
  let options = [
    Option<"type", "type", "std::string", /*default=*/"", "f32, bf16 or f16">,
  ];
}

def PackSequences : Pass<"polyattn-pack-sequences", "::mlir::ModuleOp"> {
  let summary = "attend to packed sequences, each alone";
  let description = [{
    Gives each attention the clause `packed` and an argument for it, `cu_seqlens`, i32 [N + 1], which says where
    N sequences begin and end that lie one after the other in tensors [1, T, H, d].

    Numeric contract: the numbers of each sequence are those of a call of its own.
  }];
}

def ChooseSchedule : Pass<"polyattn-choose-schedule", "::mlir::ModuleOp"> {
  let summary = "decide how each attention is computed";
  let description = [{
    Gives every `attend` without a schedule one that a cost model chooses from its sizes: the
    form with a state or the quadratic one (both where T decides), how pairs inside a block are
    scored, the block and the feature block. With `short-block = N` calls of at most N positions, or
    of at most 2N, are one block of that length where the attend allows it. Maps must be inlined.

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
           "The shortest block that takes less time than a longer one, 0 for no short blocks">,
  ];
}

#endif // POLYATTN_TRANSFORMS_PASSES
