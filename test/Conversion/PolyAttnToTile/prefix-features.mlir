// RUN: polyattn-opt %s --polyattn-to-tile --canonicalize --cse | FileCheck %s

// The kernel between the sums of segments and the blocks of queries has as many features in a program
// as its `cut` says.

// Each of three programs has six of 16 features, the last one four.
// CHECK-LABEL: tile.kernel @some__prefix programs [3, dim(0, 0), dim(0, 2)]
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %program, %c2
// CHECK: scf.if %[[IS_LAST]]
// CHECK:   tile.load %segment_sums[{{.*}}] {{.*}} -> <4x16xf32>
// CHECK:   tile.load %segment_sums[{{.*}}] {{.*}} -> <6x16xf32>
polyattn.attention @some(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = kernel @some cut <prefix_features = 6> {
    %s = state key %x value %x causal : [16], [16]
    %y = attend query %x key %x value %x state %s causal normalize <none>
        {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 32, feature_block = 8, quadratic_below = 0, segment = 128>}
      : [16], [16], [16], !polyattn.state<16x16>
    kernel_yield %y : [16]
  }
  return %o : [16]
}

// One program has all.
// CHECK-LABEL: tile.kernel @all__prefix programs [1, dim(0, 0), dim(0, 2)]
// CHECK-NOT: scf.if
// CHECK: tile.load %segment_sums[{{.*}}] {{.*}} -> <16x16xf32>
polyattn.attention @all(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = kernel @all {
    %s = state key %x value %x causal : [16], [16]
    %y = attend query %x key %x value %x state %s causal normalize <none>
        {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 32, feature_block = 8, quadratic_below = 0, segment = 128>}
      : [16], [16], [16], !polyattn.state<16x16>
    kernel_yield %y : [16]
  }
  return %o : [16]
}

// A program that sums up a segment has two blocks of features: one program has all 16. Queries read the states block by
// block.
// CHECK-LABEL: tile.kernel @sums__sums programs [ceildiv(dim(0, 1) - 128, 128), dim(0, 0), dim(0, 2)]
// CHECK: {{(tile\.)?}}store %{{.*}}, %segment_sums[{{.*}}] {{.*}} <16x16xf32>
// CHECK-LABEL: tile.kernel @sums programs
// CHECK: {{(tile\.)?}}load %states[{{.*}}] {{.*}} -> <8x16xf32>
polyattn.attention @sums(%q: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %o = kernel @sums cut <prefix_features = 6, sum_blocks = 2> {
    %s = state key %x value %x causal : [16], [16]
    %y = attend query %x key %x value %x state %s causal normalize <none>
        {schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 32, feature_block = 8, quadratic_below = 0, segment = 128>}
      : [16], [16], [16], !polyattn.state<16x16>
    kernel_yield %y : [16]
  }
  return %o : [16]
}
