//===- StatePasses.td - passes on the states that attends read ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_STATE_PASSES
#define POLYATTN_STATE_PASSES

include "mlir/Pass/PassBase.td"

def NameStates : Pass<"polyattn-name-states", "::mlir::ModuleOp"> {
  let summary = "say which states attends read";
  let description = [{
    Gives each attend that its schedule computes through a state the op `state` that it reads. What
    the attend was given as its initial state becomes the state's operand. Where the schedule
    contracts the state, that is the one of pairs, unfolded (`unfold_pairs`). Attends in the quadratic
    form, and those with `block_states`, read none. Attends without a schedule get the default one.

    Numeric contract: exact.

    ```mlir
    %o = attend query %a key %b value %c causal normalize <none> {schedule = ...} : [4], [4], [8]
    ```
    becomes
    ```mlir
    %s = state key %b value %c causal : [4], [8]
    %o = attend query %a key %b value %c state %s causal normalize <none> {schedule = ...}
        : [4], [4], [8], !polyattn.state<4x8>
    ```
  }];
}

def MergeStates : Pass<"polyattn-merge-states", "::mlir::ModuleOp"> {
  let summary = "let attends read one state that have the same sums";
  let description = [{
    Of two states with one recurrence (mask, decay, heads) one goes

      - where both sum up the same products, up to a number;
      - where its features are some of the other's, over the same values: it is `state_rows` of that one;
      - where its features are the other's values and its values the other's features, or the first of
        them: it is that one transposed, with what it lacks in a state of its own.

    Gradients of keys and of values are attends of such states. An update is as much work as a read.
    A state that is a result stays, and others may be views of it. So do those that live in arguments
    or are of the full mask, and those of attends that have a state where the readers of the other one
    have the quadratic form.
    Pairs of a block take scores where the schedule has them by features of keys that are not formed
    any more.

    Numeric contract: reassociating. A sum has its terms in the same order, and products of f32 that
    are multiplied by a number before it or behind it are equal up to rounding.

    ```mlir
    %s = state key %a value %b anticausal : [4], [8]
    %t = state key %b value %a anticausal : [8], [4]
    ```
    becomes
    ```mlir
    %t = state key %b value %a anticausal : [8], [4]
    %s = transpose_state %t : !polyattn.state<8x4>
    ```
  }];
}

#endif // POLYATTN_STATE_PASSES
