// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-positions | FileCheck %s --check-prefixes=CHECK,HEADS
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-heads=false cut-positions subsegments=2" | FileCheck %s --check-prefixes=CHECK,POSITIONS
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-heads=false cluster-size=2 shared-bytes=16384" | FileCheck %s --check-prefix=CLUSTER
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-blocks=false" | FileCheck %s --check-prefix=HEADS-OF-PAIRS
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-blocks-of-sums" | FileCheck %s --check-prefix=SUMS
// RUN: not polyattn-opt %s --polyattn-cut-kernels="cluster-size=3" 2>&1 | FileCheck %s --check-prefix=THREE
// THREE: error: expected subsegments from 1 to 1024 and a cluster-size of 1, 2, 4 or 8, got 1 and 3

// 64 features in blocks of 16.
// HEADS: kernel @many_features cut <splits = 4> {
// POSITIONS: kernel @many_features cut <subsegments = 2, prefix_cost = {{[0-9]+}}> {
// CLUSTER: kernel @many_features cut <cluster = 2> {
polyattn.attention @many_features(%q: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>) -> (o: tensor<?x?x?x32xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %c = read %v : tensor<?x?x?x32xf32> -> [32]
  %o = attend query %x key %x value %c causal normalize <none> {schedule = #polyattn.schedule<form = state,
    diagonal = features, block = 32, feature_block = 16, quadratic_below = 0>} : [64], [64], [32]
  return %o : [32]
}

// One block of features is cut by positions.
// HEADS: kernel @few_features cut <subsegments = 1, prefix_cost = {{[0-9]+}}> {
// POSITIONS: kernel @few_features cut <subsegments = 2, prefix_cost = {{[0-9]+}}> {
// CLUSTER: kernel @few_features {
polyattn.attention @few_features(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<form = state,
    diagonal = scores, block = 32, feature_block = 4, quadratic_below = 0>} : [4], [4], [4]
  return %o : [4]
}

// Without a state no block of rows waits for another.
// CHECK: kernel @pairs cut <blocks = true> {
// HEADS-OF-PAIRS: kernel @pairs {
polyattn.attention @pairs(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<form = quadratic,
    diagonal = scores, block = 32, feature_block = 4, quadratic_below = 0>} : [4], [4], [4]
  return %o : [4]
}

// A block of 32 positions has rows of two local blocks of 48.
// CHECK: kernel @uneven {
polyattn.attention @uneven(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x local %x, %x causal normalize <none> {block = 48, schedule = #polyattn.schedule<form = quadratic,
    diagonal = scores, block = 32, feature_block = 4, quadratic_below = 0>} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// No call is long enough for the state.
// CHECK: kernel @never_long {
polyattn.attention @never_long(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<form = both,
    diagonal = scores, block = 32, feature_block = 2, quadratic_below = 9223372036854775807>} : [4], [4], [4]
  return %o : [4]
}

// A block of more features than there are has all of them.
// CHECK: kernel @wide_block cut <subsegments = {{[12]}}, prefix_cost = {{[0-9]+}}> {
polyattn.attention @wide_block(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %x key %x value %x causal normalize <none> {schedule = #polyattn.schedule<form = state,
    diagonal = scores, block = 32, feature_block = 1024, quadratic_below = 0>} : [4], [4], [4]
  return %o : [4]
}

// Two kernels are not cut; sums of weights are, in parts of the batches.
// CHECK: kernel @two_masks cut <parts = 64> {
// CHECK: kernel @two_masks__anticausal cut <parts = 64> {
polyattn.attention @two_masks(%q: tensor<?x?x?x4xf32>) -> (dw: tensor<4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %a = attend query %x key %x value %x causal normalize <none> : [4], [4], [4]
  %b = attend query %x key %x value %x anticausal normalize <none> : [4], [4], [4]
  %dw = weight_gradient (%x, %a), (%x, %b) : ([4], [4]), ([4], [4])
  return %dw : 4x4
}

// Parts of all blocks have more programs than parts of the batches, and more sums.
// CHECK: kernel @sum_of_pairs cut <parts = 64> {
// SUMS: kernel @sum_of_pairs cut <parts = 512, blocks = true> {
polyattn.attention @sum_of_pairs(%q: tensor<?x?x?x4xf32>) -> (dw: tensor<4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %a = attend query %x key %x value %x causal normalize <softmax> : [4], [4], [4]
  %dw = weight_gradient (%x, %a) : ([4], [4])
  return %dw : 4x4
}

// The sums of segments are added by programs that have some of the features each.
// CHECK: kernel @chunkwise cut <prefix_features = 32> {
polyattn.attention @chunkwise(%q: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %x key %x value %x causal normalize <none>
      {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 32, feature_block = 8, quadratic_below = 0, segment = 128>}
    : [64], [64], [64]
  return %o : [64]
}

// For gradients, a program that sums up a segment carries two blocks of features, if its registers have room for them.
// CHECK: kernel @gradients cut <prefix_features = 32, sum_blocks = 2> {
// CHECK: kernel @gradients__anticausal cut <prefix_features = 32> {
polyattn.attention @gradients(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>) -> (d_q: tensor<?x?x?x64xf32>, d_k: tensor<?x?x?x64xf32>) attributes {gradient_of = {d_q = "q", d_k = "k"}} {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %y = read %k : tensor<?x?x?x64xf32> -> [64]
  %a = attend query %x key %x value %x causal normalize <none>
      {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, segment = 128>}
    : [64], [64], [64]
  %b = attend query %x key %y value %x anticausal normalize <none>
      {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 128, quadratic_below = 0, segment = 128>}
    : [64], [64], [64]
  return %a, %b : [64], [64]
}

// A cut that is there stays.
// CHECK: kernel @by_hand cut <subsegments = 7, prefix_cost = 50> {
polyattn.attention @by_hand(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @by_hand cut <subsegments = 7, prefix_cost = 50> {
    %s = state key %x value %x causal : [4], [4]
    %y = attend query %x key %x value %x state %s causal normalize <none> : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// Programs of a cluster that share a head's features may have sums of weights' gradients, each of its own part.
// CHECK-LABEL: @cluster_with_sums
// CHECK: kernel @cluster_with_sums cut <cluster = 2, parts = 128> {
polyattn.attention @cluster_with_sums(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @cluster_with_sums cut <cluster = 2, parts = 128> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}
