// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-step-kernels | FileCheck %s --check-prefix=ONE
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-step-kernels="few-tokens=16 fewest-batches=12" | FileCheck %s --check-prefix=FEW
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-step-kernels="few-tokens=16 one-by-one=8" | FileCheck %s --check-prefix=TOKENS
// RUN: not polyattn-opt %s --polyattn-step-kernels="fewest-batches=17" 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: expected few-tokens from 0 and one-by-one from 1 to 1024, and fewest-batches from 1 to 16, got 0, 1 and 17

// ONE: kernel @projected steps <tokens = 1, batches = 1> {
// FEW: kernel @projected steps <tokens = 16, few = 16, batches = 12> {
// TOKENS: kernel @projected steps <tokens = 16, one_by_one = 8, few = 16, batches = 1> {
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

// A window beside the state is gone over once for each token, so that fewer tokens go one by one.
// TOKENS: kernel @window steps <tokens = 16, one_by_one = 4, few = 16> {
polyattn.attention @window(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %p: tensor<?x?x32x4xf32>, %slots: tensor<?xi32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, r: tensor<?x?x32x4xf32> in %p) first_position %first slots %slots {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x32x4xf32>
  %o:2 = attend query %x key %x value %x initial %s causal normalize <none> {final_state} : [4], [4], [4], tensor<?x?x4x4xf32>
  %w = attend query %x key %x value %x causal normalize <softmax> {window = 8} : [4], [4], [4]
  %r = add %o#0, %w : [4], [4]
  return %r, %o#1, %k : [4], tensor<?x?x4x4xf32>, tensor<?x?x32x4xf32>
}

// TOKENS: kernel @local steps <tokens = 8, one_by_one = 8> {
polyattn.attention @local(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %p: tensor<?x?x8x4xf32>, %slots: tensor<?xi32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, r: tensor<?x?x8x4xf32> in %p) first_position %first slots %slots {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x8x4xf32>
  %o:2 = attend query %x key %x value %x local %x, %x initial %s causal normalize <none> {final_state, block = 8} : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k : [4], tensor<?x?x4x4xf32>, tensor<?x?x8x4xf32>
}

// They do not where heads share what tokens leave in a ring.
// TOKENS: kernel @shared steps <tokens = 1, few = 16> {
polyattn.attention @shared(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32, #polyattn.shared_heads>, %s: tensor<?x?x4x4xf32>, %p: tensor<?x?x48x4xf32>,
    %r: tensor<?x?x48x4xf32>, %slots: tensor<?xi32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, g: tensor<?x?x48x4xf32> in %p, h: tensor<?x?x48x4xf32> in %r) first_position %first slots %slots {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %v : tensor<?x?x?x4xf32, #polyattn.shared_heads> -> [4]
  %k = keep %q in %p : tensor<?x?x?x4xf32>, tensor<?x?x48x4xf32>
  %w = keep %v in %r : tensor<?x?x?x4xf32, #polyattn.shared_heads>, tensor<?x?x48x4xf32>
  %o:2 = attend query %x key %x value %y local %x, %x initial %s causal normalize <none> {final_state, block = 18, sliding}
      : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x48x4xf32>, tensor<?x?x48x4xf32>
}

// A call without states in arguments has no steps.
// ONE: kernel @other {
// FEW: kernel @other {
polyattn.attention @other(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x causal normalize <none> : [4], [4], [4]
  return %o : [4]
}
