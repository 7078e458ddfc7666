//===- EntryPasses.td - passes that change what entries take and give -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ENTRY_PASSES
#define POLYATTN_ENTRY_PASSES

include "mlir/Pass/PassBase.td"

def DeriveDecode : Pass<"polyattn-derive-decode", "::mlir::ModuleOp"> {
  let summary = "an attention becomes one that continues sequences in place";
  let description = [{
    `@name` becomes `@name__decode`. Each attend begins with a state in a pool and leaves its final
    state there. States of the entry become pools. Other states are added as arguments `state` and
    `state_normalizer`, with results `final` and `final_normalizer` that live in them. Further
    arguments are

    - `slots`, the rows of the pools;
    - `first_position`, if the entry has none;
    - `lengths`, how many of a call's positions count, unless sequences are packed.

    Tables of positions then have any number of rows. A final state that is several results becomes
    one result, with the first of its names.

    If attends have local vectors, whose blocks reach into earlier calls, pools keep the rows of the
    last block. They keep each sequence that keys and values are read from (`local_keys`,
    `local_values`) and decays (`local_decay`), with results that live in these pools. All attends
    then have blocks of one length.

    If attends have a window, rings keep the rows of the last positions (`window_keys`,
    `window_values`; the op `keep` has their layout). A ring has as many rows as the longest window
    that reads its tensor needs. A score by distance whose table ends, with `beyond = zero`, gives
    an attend its window, as `--polyattn-find-windows` does. So does a table with `beyond = error`,
    which has the distances of whole sequences. Attends with states may stand beside attends with
    windows; attends with local vectors may not.

    Inline and simplify maps first: states are then smaller. An attend without a state that can be
    continued is an error. The reasons are:

    - a mask that is not causal;
    - `eps_mode = row_max`;
    - a softmax without a window;
    - odd powers of |score|;
    - scores by the distance of positions, without a window;
    - more than 2^24 features;
    - local blocks of different lengths;
    - a window with decays.

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
  let summary = "an attention becomes one that gives the contribution of a segment to its states";
  let description = [{
    `@name` becomes `@name__states`, for one segment of a sequence. Its results are the final states
    of all attends, starting from zeros. They have the names of the attention's final states, or
    `final` and `final_normalizer`. Each attend with a decay adds an argument `decay_before` and a
    result `decay`, [B, H, 1]. The result is the argument times the product of all decays of the
    segment. It is computed as the final state of an attend that begins with the argument and whose
    keys add nothing. With states S_a and S_b of two segments, and `decay` of the second one for a
    `decay_before` of 1, both together have S_b + decay S_a.

    The pass leaves unused rows in place; `--polyattn-drop-rows` removes them.

    An attend without a state is an error: a mask that is not causal, `eps_mode = row_max`, odd
    powers of |score|, more than 2^24 features. Local vectors are no part of a state.

    Numeric contract: exact. A product of decays below the range of f32 is 0.

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

def DropRows : Pass<"polyattn-drop-rows", "::mlir::ModuleOp"> {
  let summary = "attends of which only the states are used have no queries";
  let description = [{
    If the rows of an attend are unused, its key takes the place of its query and its local vectors
    are removed. The op then asserts nothing about the scores. Unused ops and arguments go, except
    arguments of clauses (`first_position`, `packed`). Queries stay if states belong to heads of
    queries that may differ from the heads of keys: gates of query heads, or sums over query heads
    with `of_keys`. They give the number of heads.

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

def SetDType : Pass<"polyattn-set-dtype", "::mlir::ModuleOp"> {
  let summary = "change the element type of tensors";
  let description = [{
    Queries, keys, values and weights get the given element type. So do results that had the element
    type of these. Decays, states, rotary frequencies and the factors of rows stay f32, and so does
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
    Gives each attention the clause `packed` and an argument for it, `cu_seqlens`, i32 [N + 1]. It
    says where N sequences begin and end that are concatenated in tensors [1, T, H, d].

    Numeric contract: exact. Each sequence has the results of a call of its own.
  }];
}

#endif // POLYATTN_ENTRY_PASSES
