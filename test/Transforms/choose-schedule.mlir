// RUN: polyattn-opt %s --polyattn-choose-schedule | FileCheck %s
// RUN: polyattn-opt %s --polyattn-choose-schedule=tensor-cores=true | FileCheck %s --check-prefix=CORES
// RUN: polyattn-opt %s --polyattn-choose-schedule="block=48 feature-block=8" | FileCheck %s --check-prefix=GIVEN
// RUN: polyattn-opt %s --polyattn-choose-schedule --remarks-filter="polyattn.*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not polyattn-opt %s --polyattn-choose-schedule=block=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// NEGATIVE: :[[#]]:8: error: a block has 1 to 1024 positions, not -1

// A plain vector has no cheaper scores: a state at every length. It is small beside the pairs of a
// block, so blocks are short.
// CHECK-LABEL: @plain
// CHECK: schedule = #polyattn.schedule<form = state, diagonal = scores, block = 32, feature_block = 16, quadratic_below = 0>
// GIVEN-LABEL: @plain
// GIVEN: #polyattn.schedule<form = state, diagonal = scores, block = 48, feature_block = 8, quadratic_below = 0>
// REMARK: remark: [Analysis] Schedule | Category:polyattn-choose-schedule | Function=plain |
// REMARK-SAME: block=32
// REMARK-SAME: cost_state=5.12
// REMARK-SAME: form=state
polyattn.attention @plain(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %x value %x causal normalize <none> : [16], [16], [16]
  return %o : [16]
}

// 816 features of 16 numbers: all pairs are faster than the state in calls of up to 22 blocks.
// CHECK-LABEL: @cube
// CHECK: #polyattn.schedule<form = both, diagonal = scores, block = 64, feature_block = {{[0-9]+}}, quadratic_below = 1409>
polyattn.attention @cube(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = power 3 %x {symmetric} : [16]
  %o = attend query %p key %p value %x causal normalize <none> : sym 3 [16], sym 3 [16], [16]
  return %o : [16]
}

// A state that is asked for is held. It is large: long blocks load and store it less often.
// CHECK-LABEL: @asked
// CHECK: #polyattn.schedule<form = state, diagonal = scores, block = 64,
polyattn.attention @asked(%q: tensor<?x?x?x16xf32>)
    -> (o: tensor<?x?x?x16xf32>, s: tensor<?x?x816x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = power 3 %x {symmetric} : [16]
  %o:2 = attend query %p key %p value %x causal normalize <none> {final_state}
    : sym 3 [16], sym 3 [16], [16]
  return %o#0, %o#1 : [16], tensor<?x?x816x16xf32>
}

// Between the blocks of a local kernel, too. Where these are long, and at most lengths there is nothing else, it
// would not be worth its code. On tensor cores segments have whole local blocks.
// CHECK-LABEL: @beside_local
// CHECK: #polyattn.schedule<form = both, diagonal = scores, block = 64, feature_block = {{[0-9]+}}, quadratic_below = 1409>
// CORES-LABEL: @beside_local
// CORES: #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 256, quadratic_below = [[#]], segment = 512>
polyattn.attention @beside_local(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = power 3 %x {symmetric} : [16]
  %e = power 3 %x : [16]
  %o = attend query %p key %p value %x local %e, %e causal normalize <none> {block = 64}
    : sym 3 [16], sym 3 [16], [16], pow 3 [16], pow 3 [16]
  return %o : [16]
}

// CHECK-LABEL: @beside_long_local
// CHECK: #polyattn.schedule<form = state,
// CORES-LABEL: @beside_long_local
// CORES: #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 256, quadratic_below = [[#]], segment = 1024>
polyattn.attention @beside_long_local(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = power 3 %x {symmetric} : [16]
  %e = power 3 %x : [16]
  %o = attend query %p key %p value %x local %e, %e causal normalize <none> {block = 1024}
    : sym 3 [16], sym 3 [16], [16], pow 3 [16], pow 3 [16]
  return %o : [16]
}

// No segment has so long a block.
// CORES-LABEL: @beside_too_long_local
// CORES: #polyattn.schedule<form = state,
polyattn.attention @beside_too_long_local(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = power 3 %x {symmetric} : [16]
  %e = power 3 %x : [16]
  %o = attend query %p key %p value %x local %e, %e causal normalize <none> {block = 131072}
    : sym 3 [16], sym 3 [16], [16], pow 3 [16], pow 3 [16]
  return %o : [16]
}

// Keys that take long to form are formed once for a state, and for each block of queries in the other form.
// CORES-LABEL: @far_keys
// CORES: #polyattn.schedule<form = state,
polyattn.attention @far_keys(%q: tensor<?x?x?x16xf32>, %w: tensor<16x2048xf32>, %u: tensor<2048x16xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %a = read %w : tensor<16x2048xf32> -> 16x2048
  %b = read %u : tensor<2048x16xf32> -> 2048x16
  %h = project %x, %a : [16], 16x2048
  %r = relu %h : [2048]
  %y = project %r, %b : [2048], 2048x16
  %p = power 3 %y {symmetric} : [16]
  %o = attend query %p key %p value %x causal normalize <none> : sym 3 [16], sym 3 [16], [16]
  return %o : [16]
}

// A state that four warps carry in registers is one block; a larger one is cut, for eight would read more. Scores of
// these features take as long as the features, and their state passes from block to block.
// CORES-LABEL: @carried
// CORES: feature_block = 153,
polyattn.attention @carried(%q: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x48xf32>) -> (o: tensor<?x?x?x48xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %v : tensor<?x?x?x48xf32> -> [48]
  %one = constant {value = 1.0, width = 1}
  %xx = power 2 %x {symmetric} : [16]
  %p = concat %one, %x, %xx : [1], [16], sym 2 [16]
  %r = relu %p : [1] + [16] + sym 2 [16]
  %o = attend query %r key %r value %y causal normalize <none>
    : [153], [153], [48]
  return %o : [48]
}

// CORES-LABEL: @not_carried
// CORES: feature_block = 64,
polyattn.attention @not_carried(%q: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %v : tensor<?x?x?x64xf32> -> [64]
  %one = constant {value = 1.0, width = 1}
  %xx = power 2 %x {symmetric} : [16]
  %p = concat %one, %x, %xx : [1], [16], sym 2 [16]
  %r = relu %p : [1] + [16] + sym 2 [16]
  %o = attend query %r key %r value %y causal normalize <none>
    : [153], [153], [64]
  return %o : [64]
}

// CORES-LABEL: @not_carried_bf16
// CORES: feature_block = 128,
polyattn.attention @not_carried_bf16(%q: tensor<?x?x?x16xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %x = read %q : tensor<?x?x?x16xbf16> -> [16]
  %y = read %v : tensor<?x?x?x64xbf16> -> [64]
  %one = constant {value = 1.0, width = 1}
  %xx = power 2 %x {symmetric} : [16]
  %p = concat %one, %x, %xx : [1], [16], sym 2 [16]
  %r = relu %p : [1] + [16] + sym 2 [16]
  %o = attend query %r key %r value %y causal normalize <none>
    : [153], [153], [64]
  return %o : [64]
}

// A state that two multiprocessors could not keep would come from far memory for each block. Blocks are
// computed each by itself instead, from states between segments; a processor passes the state on.
// CORES-LABEL: @far_state
// CORES: #polyattn.schedule<form = chunkwise, diagonal = scores, block = 128, feature_block = 256, quadratic_below = [[#]], segment = 1024, states = bf16>
// CHECK-LABEL: @far_state
// CHECK: #polyattn.schedule<form = {{state|both}},
polyattn.attention @far_state(%q: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %x = read %q : tensor<?x?x?x64xbf16> -> [64]
  %p = power 2 %x {symmetric} : [64]
  %o = attend query %p key %p value %x causal normalize <sum, eps = 1.0e-6> : sym 2 [64], sym 2 [64], [64]
  return %o : [64]
}

// With a state in and out no call is one segment; factors in f32 have shorter blocks.
// CORES-LABEL: @far_state_given
// CORES: #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 128, quadratic_below = 0, segment = 1024>
polyattn.attention @far_state_given(%q: tensor<?x?x?x64xf32>, %s: tensor<?x?x2080x64xf32>)
    -> (o: tensor<?x?x?x64xf32>, f: tensor<?x?x2080x64xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %p = power 2 %x {symmetric} : [64]
  %o:2 = attend query %p key %p value %x initial %s causal normalize <none> {final_state}
    : sym 2 [64], sym 2 [64], [64], tensor<?x?x2080x64xf32>
  return %o#0, %o#1 : [64], tensor<?x?x2080x64xf32>
}

// Packed sequences have lengths that no launch knows.
// CORES-LABEL: @far_state_packed
// CORES: #polyattn.schedule<form = {{state|both}},
polyattn.attention @far_state_packed(%q: tensor<?x?x?x64xbf16>, %offsets: tensor<?xi32>)
    -> (o: tensor<?x?x?x64xbf16>) packed %offsets {
  %x = read %q : tensor<?x?x?x64xbf16> -> [64]
  %p = power 2 %x {symmetric} : [64]
  %o = attend query %p key %p value %x causal normalize <none> : sym 2 [64], sym 2 [64], [64]
  return %o : [64]
}
// Under the full mask every query reads one state: a program for each block, not for each head.
// CORES-LABEL: @far_state_full
// CORES: #polyattn.schedule<form = chunkwise, diagonal = scores, block = 128, feature_block = 256, quadratic_below = [[#]], segment = 512, states = bf16>
polyattn.attention @far_state_full(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %x = read %q : tensor<?x?x?x64xbf16> -> [64]
  %y = read %k : tensor<?x?x?x64xbf16> -> [64]
  %p = power 2 %x {symmetric} : [64]
  %r = power 2 %y {symmetric} : [64]
  %o = attend query %p key %r value %y full normalize <none> : sym 2 [64], sym 2 [64], [64]
  return %o : [64]
}

// A window beside a state has no form with one: blocks by themselves have both.
// CORES-LABEL: @hybrid
// CORES: attend {{.*}}#polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, {{.*}}segment = [[#]]>
// CORES: attend {{.*}}#polyattn.schedule<form = quadratic, diagonal = scores, block = 64,
// CHECK-LABEL: @hybrid
// CHECK: #polyattn.schedule<form = {{state|both}},
// CHECK: #polyattn.schedule<form = quadratic,
polyattn.attention @hybrid(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = exp %x : [16]
  %far = attend query %p key %p value %x causal normalize <sum, eps = 1.0e-6> : [16], [16], [16]
  %near = attend query %x key %x value %x causal normalize <softmax> {window = 64} : [16], [16], [16]
  %o = add %far, %near : [16], [16]
  return %o : [16]
}

// A state of so high a power would lose the digits of its scores: it is chosen where these take 16 times as
// long.
// CHECK-LABEL: @inaccurate
// CHECK: #polyattn.schedule<form = both, diagonal = scores, block = 64, feature_block = {{[0-9]+}}, quadratic_below = 9232>
polyattn.attention @inaccurate(%q: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x3xf32> -> [3]
  %y = read %v : tensor<?x?x?x4xf32> -> [4]
  %p = power 30 %x {symmetric} : [3]
  %o = attend query %p key %p value %y causal normalize <none> : sym 30 [3], sym 30 [3], [4]
  return %o : [4]
}

// Too many features to hold.
// CHECK-LABEL: @huge
// CHECK: #polyattn.schedule<form = quadratic,
polyattn.attention @huge(%q: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %p = power 8 %x {symmetric} : [64]
  %o = attend query %p key %p value %x causal normalize <none> : sym 8 [64], sym 8 [64], [64]
  return %o : [64]
}

// What the user wrote stays.
// CHECK-LABEL: @hand
// CHECK: #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 16, quadratic_below = 0>
// GIVEN-LABEL: @hand
// GIVEN: #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 16, quadratic_below = 0>
polyattn.attention @hand(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<
      form = quadratic, diagonal = scores, block = 16, feature_block = 16, quadratic_below = 0>}
    : [16], [16], [16]
  return %o : [16]
}

// A call of few keys pays for a whole block of queries and keys in both forms: 4,950 multiply-adds for a position by a
// state, 832 by pairs. On tensor cores pairs must be worth their code at more lengths.
// CHECK-LABEL: @few_keys_of_full_mask
// CHECK: #polyattn.schedule<form = both, diagonal = scores, block = 64, feature_block = {{[0-9]+}}, quadratic_below = 317>
// CORES-LABEL: @few_keys_of_full_mask
// CORES: #polyattn.schedule<form = chunkwise, {{.*}}, quadratic_below = 0,
polyattn.attention @few_keys_of_full_mask(%q: tensor<?x?x?x5xf32>, %k: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %x = read %q : tensor<?x?x?x5xf32> -> [5]
  %y = read %k : tensor<?x?x?x5xf32> -> [5]
  %px = power 8 %x {symmetric} : [5]
  %py = power 8 %y {symmetric} : [5]
  %o = attend query %px key %py value %y full normalize <none> : sym 8 [5], sym 8 [5], [5]
  return %o : [5]
}

// All pairs of a block are no cheaper than a state of so few features.
// CHECK-LABEL: @few_features_of_full_mask
// CHECK: #polyattn.schedule<form = state,
polyattn.attention @few_features_of_full_mask(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %x key %y value %y full normalize <none> : [16], [16], [16]
  return %o : [16]
}

// The gradient of a query under (q . k)^2: the state is symmetric in the value and a factor of the key. 136 x 17
// numbers in place of 272 x 16. Tensor cores keep all of them.
// CHECK-LABEL: @symmetric_state
// CHECK: #polyattn.schedule<form = state, diagonal = scores, block = 32, feature_block = 136, quadratic_below = 0, contracted = true>
// REMARK: Function=symmetric_state |
// REMARK-SAME: contracted=1
// CORES-LABEL: @symmetric_state
// CORES-NOT: contracted
// CORES: return
polyattn.attention @symmetric_state(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x16xf32>,
                                    %n: tensor<?x?x?x16xf32>, %z: tensor<?x?x?x1xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %dn = read %n : tensor<?x?x?x16xf32> -> [16]
  %dz = read %z : tensor<?x?x?x1xf32> -> [1]
  %one = constant {value = 1.0, width = 1}
  %rows = concat %dn, %dz : [16], [1]
  %columns = concat %c, %one : [16], [1]
  %query = tensor %a, %rows : [16], [16] + [1]
  %key = tensor %b, %columns : [16], [16] + [1]
  %o = attend query %query key %key value %b causal normalize <none>
    : [16] x ([16] + [1]), [16] x ([16] + [1]), [16]
  return %o : [16]
}
