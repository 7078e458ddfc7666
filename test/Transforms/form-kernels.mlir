// RUN: polyattn-opt %s --polyattn-form-kernels --split-input-file --verify-diagnostics | FileCheck %s
// RUN: polyattn-opt %s --polyattn-form-kernels --split-input-file --verify-diagnostics | polyattn-opt --split-input-file --polyattn-form-kernels | FileCheck %s
// RUN: polyattn-opt %s --polyattn-form-kernels=pass-row-sums --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,PASS
// RUN: polyattn-opt %s --polyattn-form-kernels=pass-keys --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,KEYS

// One sweep over the positions computes all attends of a mask. The state goes with them, what is read does not.
// CHECK-LABEL: @one_mask
// CHECK: %[[A:.*]] = read %q
// CHECK: %[[E:.*]] = exp %[[A]]
// CHECK: %[[O:.*]] = kernel @one_mask {
// CHECK-NEXT: %[[S:.*]] = state key %[[A]] value %[[A]] causal
// CHECK-NEXT: %[[X:.*]] = attend {{.*}} state %[[S]] causal
// CHECK-NEXT: %[[Y:.*]] = attend query %[[E]]
// CHECK-NEXT: %[[SUM:.*]] = add %[[X]], %[[Y]]
// CHECK-NEXT: kernel_yield %[[SUM]] : [4]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[O]] : [4]
polyattn.attention @one_mask(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %a value %a causal : [4], [4]
  %x = attend query %a key %a value %a state %s causal normalize <none> : [4], [4], [4], !polyattn.state<4x4>
  %e = exp %a : [4]
  %y = attend query %e key %e value %a causal normalize <none> : [4], [4], [4]
  %sum = add %x, %y : [4], [4]
  return %sum : [4]
}

// -----

// The last kernel computes what several are needed for. Of the others it takes the plain vectors nearest to the
// result, once each, and a kernel's own results stay its own.
// CHECK-LABEL: @passed
// CHECK: %[[FIRST:.*]]:2 = kernel @passed {
// CHECK: %[[X:.*]] = attend {{.*}} causal
// CHECK: %[[X2:.*]] = exp %[[X]]
// CHECK: kernel_yield %[[X]], %[[X2]] : [4], [4]
// CHECK: %[[SECOND:.*]]:2 = kernel @passed__anticausal {
// CHECK: %[[Y:.*]] = attend {{.*}} anticausal
// CHECK: %[[P:.*]] = tensor %[[FIRST]]#1, %[[Y]]
// CHECK: %[[T:.*]] = sum %[[P]]
// CHECK: %[[Z:.*]] = hadamard %[[FIRST]]#1, %[[Y]]
// CHECK: kernel_yield %[[Z]], %[[T]] : [4], [1]
// CHECK: return %[[FIRST]]#0, %[[SECOND]]#0, %[[SECOND]]#1, %[[FIRST]]#0
polyattn.attention @passed(%q: tensor<?x?x?x4xf32>)
    -> (x: tensor<?x?x?x4xf32>, z: tensor<?x?x?x4xf32>, t: tensor<?x?x?x1xf32>, x2: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %y = attend query %a key %a value %a anticausal normalize <none> : [4], [4], [4]
  %e = exp %x : [4]
  %p = tensor %e, %y : [4], [4]
  %t = sum %p : [4] x [4]
  %z = hadamard %e, %y : [4], [4]
  return %x, %z, %t, %x : [4], [4], [1], [4]
}

// -----

// What no attend reaches belongs to the first kernel with rows of queries, or to one without attends.
// CHECK-LABEL: @rows_alone
// CHECK: kernel @rows_alone {
// CHECK: attend {{.*}} full normalize
// CHECK: kernel_yield %{{.*}} : [4]
// CHECK: kernel @rows_alone__rows {
// CHECK-NEXT: kernel_yield %{{.*}} : [4]
polyattn.attention @rows_alone(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, e: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %e = exp %a : [4]
  %x = attend query %b key %a value %a full normalize <none> {of_keys} : [4], [4], [4]
  return %x, %e : [4], [4]
}

// -----

// Each kernel sums up the pairs whose vectors it has; the sums of decays read what kernels yield.
// CHECK-LABEL: @sums
// CHECK: %[[FIRST:.*]]:2 = kernel @sums {
// CHECK: %[[X:.*]], %[[PX:.*]] = attend
// CHECK: %[[W:.*]] = weight_gradient (%{{.*}}, %[[X]]) : ([4], [4])
// CHECK: kernel_yield %[[PX]], %[[W]] : [1], 4x4
// CHECK: %[[SECOND:.*]]:2 = kernel @sums__anticausal {
// CHECK: %[[Y:.*]], %[[PY:.*]] = attend
// CHECK: %[[V:.*]] = weight_gradient (%{{.*}}, %[[Y]]) : ([4], [4])
// CHECK: kernel_yield %[[PY]], %[[V]] : [1], 4x4
// CHECK: %[[DW:.*]] = sum_weights %[[FIRST]]#1, %[[SECOND]]#1 plus %held : 4x4, 4x4 plus tensor<4x4xf32>
// CHECK: %[[DG:.*]] = decay_gradient %g queries %[[FIRST]]#0 keys %[[SECOND]]#0
// CHECK: return %[[DW]], %[[DG]]
polyattn.attention @sums(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %held: tensor<4x4xf32>)
    -> (dw: tensor<4x4xf32> in %held, dg: tensor<?x?x?xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %x, %px = attend query %a key %a value %a decay %g products %a causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %y, %py = attend query %a key %a value %a decay %g products %a anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %dg = decay_gradient %g queries %px keys %py : tensor<?x?x?xf32>, [1], [1]
  %dw = weight_gradient (%a, %x), (%a, %y) plus %held : ([4], [4]), ([4], [4]) plus tensor<4x4xf32>
  return %dw, %dg : 4x4, tensor<?x?x?xf32>
}

// -----

// Several sums of decays stand after the kernels, in their order.
// CHECK-LABEL: @two_decays
// CHECK: kernel @two_decays__anticausal {
// CHECK: decay_gradient %g queries
// CHECK: decay_gradient %h queries
// CHECK: return
polyattn.attention @two_decays(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>, %h: tensor<?x?x?xf32>)
    -> (dg: tensor<?x?x?xf32>, dh: tensor<?x?x?xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %x, %px = attend query %a key %a value %a decay %g products %a causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %y, %py = attend query %a key %a value %a decay %g products %a anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %dg = decay_gradient %g queries %px keys %py : tensor<?x?x?xf32>, [1], [1]
  %z, %pz = attend query %a key %a value %a decay %h products %a causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %u, %pu = attend query %a key %a value %a decay %h products %a anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %dh = decay_gradient %h queries %pz keys %pu : tensor<?x?x?xf32>, [1], [1]
  return %dg, %dh : tensor<?x?x?xf32>, tensor<?x?x?xf32>
}

// -----

// Attends that take their states from a tensor stand beside anticausal ones with the same blocks.
// CHECK-LABEL: @beside
// CHECK: kernel @beside {
// CHECK: attend {{.*}} anticausal
// CHECK: } beside {
// CHECK: attend {{.*}} block_states %states
// CHECK: }
polyattn.attention @beside(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %states: tensor<?x?x?x4xf32>)
    -> (dq: tensor<?x?x?x4xf32>, dk: tensor<?x?x?x4xf32>)
    attributes {gradient_of = {dq = "q", dk = "k"}, saved = ["states"]} {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %b value %b block_states %states causal normalize <none>
    {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0>,
     state_every = 64} : [4], [4], [4], tensor<?x?x?x4xf32>
  %s = state key %a value %a anticausal {of_keys} : [4], [4]
  %y = attend query %b key %a value %a state %s anticausal normalize <none>
    {of_keys, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4], !polyattn.state<4x4>
  return %x, %y : [4], [4]
}

// -----

polyattn.attention @attend_of_attend(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  // expected-error@+1 {{an attend of what another attend computes needs an entry of its own}}
  %y = attend query %a key %a value %x anticausal normalize <none> : [4], [4], [4]
  return %y : [4]
}

// -----

polyattn.feature_map @map(%x: [4]) {
  %e = exp %x : [4]
  yield %e : [4]
}

polyattn.attention @applied(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  // expected-error@+1 {{feature maps must be inlined first (--polyattn-inline-maps)}}
  %a = apply @map(%q) : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %x : [4]
}

// -----

// Both kernels need the sum of a row's elements. With `pass-row-sums` the second one takes it from the first, and what
// is computed from it stands in that kernel. It does not need %o then. The sum of %q is one of a tensor that it reads
// anyway, and the sum of keys has other heads.
// PASS-LABEL: @row_sums
// PASS-DAG: %[[O:.*]] = read %o
// PASS-DAG: %[[SUM:.*]] = sum %[[O]]
// PASS-DAG: %[[OTHER:.*]] = sum %{{.*}} : [2]
// PASS: %[[FIRST:.*]]:2 = kernel @row_sums {
// PASS-NOT: concat
// PASS: kernel_yield %{{.*}}, %[[SUM]] : [4], [1]
// PASS: kernel @row_sums__anticausal_of_keys {
// PASS-NEXT: %[[OWN:.*]] = concat %[[FIRST]]#1, %[[OTHER]]
// PASS-NEXT: attend query %{{.*}} key %[[OWN]]
polyattn.attention @row_sums(%q: tensor<?x?x?x2xf32>, %k: tensor<?x?x?x1xf32>, %l: tensor<?x?x?x4xf32>, %o: tensor<?x?x?x4xf32>) -> (x: tensor<?x?x?x4xf32>, y: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x2xf32> -> [2]
  %b = read %k : tensor<?x?x?x1xf32> -> [1]
  %c = read %l : tensor<?x?x?x4xf32> -> [4]
  %d = read %o : tensor<?x?x?x4xf32> -> [4]
  %sum = sum %d : [4]
  %other = sum %a : [2]
  %keys = sum %c : [4]
  %queries = concat %sum, %other : [1], [1]
  %seen = concat %b, %keys : [1], [1]
  %x = attend query %queries key %seen value %c causal normalize <none> {grouping = #polyattn.grouping<block>} : [1] + [1], [1] + [1], [4]
  %y = attend query %seen key %queries value %a anticausal normalize <none> {of_keys, grouping = #polyattn.grouping<block>} : [1] + [1], [1] + [1], [2]
  return %x, %y : [4], [2]
}

// -----

// Programs of the form `chunkwise` would compute %leaf ten times for the sums of its features, and four times for the
// blocks of queries that see a key. With `pass-keys` a kernel before them does so once. States and vectors have one type.
// What is read from a tensor, and what takes no longer than its rows do, stays where it is.
// KEYS-LABEL: @vectors_of_keys
// KEYS: %[[LEAF:.*]] = hadamard
// KEYS: %[[ROWS:.*]] = kernel @vectors_of_keys__keys {
// KEYS-NEXT: kernel_yield %[[LEAF]] : [32]
// KEYS-NEXT: } attributes {row_type = bf16}
// KEYS: kernel @vectors_of_keys {
// KEYS-NEXT: %[[SQUARES:.*]] = power 2 %[[ROWS]]
// KEYS-NEXT: %[[KEY:.*]] = concat %[[SQUARES]], %{{.*}}
// KEYS: attend query %{{.*}} key %[[KEY]] value
polyattn.attention @vectors_of_keys(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %w: tensor<64x32xbf16>, %z: tensor<64x32xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %a = read %q : tensor<?x?x?x64xbf16> -> [64]
  %b = read %k : tensor<?x?x?x64xbf16> -> [64]
  %u = read %w : tensor<64x32xbf16> -> 64x32
  %t = read %z : tensor<64x32xbf16> -> 64x32
  %x = project %a, %u : [64], 64x32
  %y = project %b, %u : [64], 64x32
  %r = project %b, %t : [64], 64x32
  %leaf = hadamard %y, %r : [32], [32]
  %queries = power 2 %x {symmetric} : [32]
  %squares = power 2 %leaf {symmetric} : [32]
  %small = tanh %b : [64]
  %query = concat %queries, %a : sym 2 [32], [64]
  %key = concat %squares, %small : sym 2 [32], [64]
  %o = attend query %query key %key value %b causal normalize <none> {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, segment = 512, states = bf16>} : sym 2 [32] + [64], sym 2 [32] + [64], [64]
  return %o : [64]
}

// -----

// What a kernel computes of vectors around it, and of those that kernels before it yield, has their degrees: the local
// scores and the scores are of one (C4).
// CHECK-LABEL: @degrees_in_kernels
// CHECK: kernel @second
polyattn.attention @degrees_in_kernels(%q: tensor<?x?x?x4xf32>) -> (x: tensor<?x?x?x4xf32>, y: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %square = hadamard %a, %a : [4], [4]
  %first:2 = kernel @first {
    %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
    kernel_yield %x, %square : [4], [4]
  }
  %second = kernel @second {
    %own = hadamard %first#1, %a : [4], [4]
    %exact = hadamard %square, %a : [4], [4]
    %y = attend query %own key %own value %a local %exact, %exact anticausal normalize <none> {block = 16} : [4], [4], [4], [4], [4]
    kernel_yield %y : [4]
  }
  return %first#0, %second : [4], [4]
}
