// RUN: polyattn-opt %s --polyattn-choose-schedule=short-block=64 | FileCheck %s
// RUN: polyattn-opt %s --polyattn-choose-schedule | FileCheck %s --check-prefix=NONE
// RUN: not polyattn-opt %s --polyattn-choose-schedule=short-block=2000 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not polyattn-opt %s --polyattn-choose-schedule=short-block=-16 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// Calls that one block is long enough for have one, where the attend allows it and the machine gains.
// NONE-NOT: short_blocks =
// NONE: short_blocks = [5, 40]
// NONE-NOT: short_blocks =
// LONG: :[[#]]:8: error: a short block has 1 to 1024 positions, not 2000
// NEGATIVE: :[[#]]:8: error: a short block has 1 to 1024 positions, not -16

// CHECK-LABEL: @causal
// CHECK: quadratic_below = 0, short_blocks = [64]>
polyattn.attention @causal(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %x value %x causal normalize <none> : [16], [16], [16]
  return %o : [16]
}

// Sequences to train on are seldom short, and the block is code to compile.
// CHECK-LABEL: @gradients
// CHECK-NOT: short_blocks
polyattn.attention @gradients(%k: tensor<?x?x?x16xf32>, %d_o: tensor<?x?x?x16xf32>) -> (d_q: tensor<?x?x?x16xf32>)
    attributes {gradient_of = {d_o = "o", d_q = "q"}} {
  %x = read %k : tensor<?x?x?x16xf32> -> [16]
  %y = read %d_o : tensor<?x?x?x16xf32> -> [16]
  %dq = attend query %y key %x value %x causal normalize <none> : [16], [16], [16]
  return %dq : [16]
}

// CHECK-LABEL: @full
// CHECK-NOT: short_blocks
polyattn.attention @full(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %y value %y full normalize <none> : [16], [16], [16]
  return %o : [16]
}

// CHECK-LABEL: @asked
// CHECK-NOT: short_blocks
polyattn.attention @asked(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>, s: tensor<?x?x16x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o:2 = attend query %x key %x value %x causal normalize <none> {final_state} : [16], [16], [16]
  return %o#0, %o#1 : [16], tensor<?x?x16x16xf32>
}

// Positions of two local blocks would see each other in one of 64.
// CHECK-LABEL: @local
// CHECK: short_blocks = [24]>
polyattn.attention @local(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %x value %x local %x, %x causal normalize <none> {block = 24}
    : [16], [16], [16], [16], [16]
  return %o : [16]
}

// CHECK-LABEL: @hand
// CHECK: short_blocks = [5, 40]>
polyattn.attention @hand(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<form = state,
      diagonal = scores, block = 16, feature_block = 16, quadratic_below = 0, short_blocks = [5, 40]>}
    : [16], [16], [16]
  return %o : [16]
}

// CHECK-LABEL: @both_forms
// CHECK: form = both, {{.*}}short_blocks = [64]>
polyattn.attention @both_forms(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = power 3 %x {symmetric} : [16]
  %o = attend query %p key %p value %x causal normalize <none> : sym 3 [16], sym 3 [16], [16]
  return %o : [16]
}

// A local block that is shorter than a vector has none.
// CHECK-LABEL: @short_local
// CHECK-NOT: short_blocks
polyattn.attention @short_local(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %x value %x local %x, %x causal normalize <none> {block = 8}
    : [16], [16], [16], [16], [16]
  return %o : [16]
}
