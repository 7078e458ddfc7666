// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-step-kernels | FileCheck %s --check-prefix=ONE
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-step-kernels="few-tokens=16 fewest-batches=12" | FileCheck %s --check-prefix=FEW
// RUN: not polyattn-opt %s --polyattn-step-kernels="fewest-batches=17" 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: expected few-tokens from 0 to 1024 and fewest-batches from 1 to 16, got 0 and 17

// ONE: kernel @projected steps <tokens = 1, batches = 1> {
// FEW: kernel @projected steps <tokens = 16, few = 16, batches = 12> {
polyattn.attention @projected(%q: tensor<?x?x?x4xf32>, %w: tensor<4x4xf32>, %s: tensor<?x?x4x4xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s) slots %slots {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %m = read %w : tensor<4x4xf32> -> 4x4
  %p = project %x, %m : [4], 4x4
  %o:2 = attend query %p key %p value %x initial %s causal normalize <none> {final_state} : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// Features without weights are each token's own.
// ONE: kernel @plain steps <tokens = 1> {
// FEW: kernel @plain steps <tokens = 16, few = 16> {
polyattn.attention @plain(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s) slots %slots {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %x key %x value %x initial %s causal normalize <none> {final_state} : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// A call without states in arguments has no steps.
// ONE: kernel @other {
// FEW: kernel @other {
polyattn.attention @other(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x causal normalize <none> : [4], [4], [4]
  return %o : [4]
}
