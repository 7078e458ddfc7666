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
    Gives each attend that its schedule computes through a state the op `state` that it reads. The
    attend's initial state becomes an operand of the state. If the schedule contracts the state, the
    op is the state of pairs, unfolded (`unfold_pairs`). Attends in the quadratic form, and attends
    with `block_states`, read none. Attends without a schedule get the default one.

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
  let summary = "let attends with the same sums read one state";
  let description = [{
    Of two states with one recurrence (mask, decay, heads) one is removed

      - if both sum up the same products, up to a number;
      - if its features are some of the other's, over the same values: it is `state_rows` of that
        one;
      - if its features are the other's values and its values the other's features, or the first of
        them: it is that one transposed, with the missing part in a state of its own.

    Gradients of keys and of values are attends of such states. An update is as much work as a read.
    A state that is a result stays, and others may be views of it. States also stay if they live in
    arguments or have the full mask. So does the state of an attend if the readers of the other
    state have the quadratic form. If the features of keys are no longer formed, pairs of a block
    take scores where the schedule scored them by features.

    Numeric contract: reassociating. A sum has its terms in the same order. Products of f32 that are
    multiplied by a number earlier or later are equal up to rounding.

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
