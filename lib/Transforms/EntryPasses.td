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
    `@name` becomes `@name__decode`: each attend begins with a state in a pool and leaves its final state
    there. States that the entry has become pools; others are added as arguments `state` and
    `state_normalizer`, with results `final` and `final_normalizer` that live in them. Further arguments
    are `slots`, the rows of the pools, `first_position` where the entry has none, and `lengths`, how
    many of a call's positions count, unless sequences are packed. Tables of positions have any number of rows then.
    A final state that is several results is one here, by the first of its names.

    Where attends have local vectors, whose blocks reach into the calls before, the rows of the last block are kept:
    of each sequence that keys and values are read from (`local_keys`, `local_values`) and of decays (`local_decay`), with
    results that live in these pools. All attends have blocks of one length then.

    Where attends have a window, rows of the last positions are kept in rings (`window_keys`, `window_values`;
    the op `keep` has their layout), as many as the longest window that reads a tensor needs. A score by the distance
    whose table ends, with `beyond = zero`, gives an attend its window as `--polyattn-find-windows` does. Attends with
    states may stand beside such ones, attends with local vectors may not.

    Maps that are inlined and simplified before have the smaller states. What has no state that could be
    continued is an error: masks that are not causal, `eps_mode = row_max`, a softmax without a window, odd powers
    of |score|, scores by the distance of positions without a window, more than 2^24 features, local blocks of other lengths
    beside each other, windows with decays.

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

def DropRows : Pass<"polyattn-drop-rows", "::mlir::ModuleOp"> {
  let summary = "attends that are asked for their states alone have no queries";
  let description = [{
    Where nobody uses the rows of an attend, its key stands for its query, local vectors are gone, and
    nothing is known of the scores. Ops and arguments that nobody uses then go, but for those of clauses
    (`first_position`, `packed`). Where states belong to the heads of queries, which may be others than those of keys
    (gates of query heads, or sums over these with `of_keys`), queries stay: they say how many heads there are.

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

#endif // POLYATTN_ENTRY_PASSES
