// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// The form `chunkwise`: sums of segments, states between them, and blocks of queries by themselves.

// A program of the first kernel has one of two blocks of features, and one segment.
// CHECK-LABEL: tile.kernel @gated__sums programs [2 * ceildiv(dim({{[0-9]+}}, 1) - 128, 128), dim({{[0-9]+}}, 0), dim({{[0-9]+}}, 2)] attributes
// CHECK-SAME: "segment_sums", "segment_normalizers", "segment_decays"
// CHECK-DAG: %[[SLOT:.*]] = arith.divui %program, %c2
// CHECK-DAG: %[[BLOCK:.*]] = arith.remui %program, %c2
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c8
// CHECK-DAG: %[[BEGIN:.*]] = arith.muli %[[SLOT]], %c128
// CHECK: tile.buffer : <8x4>
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %{{.*}} step %c32
// CHECK:   tile.accumulate
// One of the two stores the segment's decay.
// CHECK: scf.if
// CHECK:   tile.store %{{.*}}, %segment_decays[%[[SLOT]], %batch, %head]
// CHECK: tile.store %{{.*}}, %segment_sums[%[[SLOT]], %batch, %head, %[[FIRST]], %c0]

// The second one stores the state before each segment, then adds what the segment adds.
// CHECK-LABEL: tile.kernel @gated__prefix programs [1, dim({{[0-9]+}}, 0), dim({{[0-9]+}}, 2)] attributes
// CHECK-SAME: "segment_sums", "segment_normalizers", "segment_decays", "states", "normalizers"
// CHECK: %[[COUNT:.*]] = memref.dim %segment_sums, %c0
// CHECK: scf.for %[[I:.*]] = %c0 to %[[COUNT]] step %c1 iter_args(%[[STATE:.*]] = %{{.*}}, %[[Z:.*]] = %{{.*}})
// CHECK:   tile.store %[[STATE]], %states[%[[I]], %batch, %head,
// CHECK:   tile.store %[[Z]], %normalizers[%[[I]], %batch, %head,
// CHECK:   tile.load %segment_decays[%[[I]], %batch, %head]
// CHECK:   math.exp
// CHECK:   tile.load %segment_sums[%[[I]], %batch, %head,
// CHECK: scf.if
// CHECK:   tile.store %{{.*}}, %states[%[[COUNT]], %batch, %head,

// The third one reads that of its block's segment, where one is before it and the call has several.
// CHECK-LABEL: tile.kernel @gated programs [ceildiv(dim({{[0-9]+}}, 1), 32), dim(0, 0), dim(0, 2)] attributes
// CHECK-SAME: "states", "normalizers"
// CHECK: %[[POSITION:.*]] = arith.muli %program, %c32
// CHECK: arith.divui %[[POSITION]], %c128
// CHECK: arith.cmpi sge, %{{.*}}, %c200
// CHECK: %[[BLOCKS:.*]] = arith.select %{{.*}}, %c16, %c0
// CHECK: scf.for %{{.*}} = %c0 to %[[BLOCKS]] step %c8
// CHECK:   tile.load %normalizers[
// CHECK:   tile.load %states[
// CHECK-NOT: tile.accumulate
// CHECK: tile.entry @gated
// CHECK: tile.workspace @states : bf16 [ceildiv(dim({{[0-9]+}}, 1), 128), dim({{[0-9]+}}, 0), dim({{[0-9]+}}, 2), 16, 4]
// CHECK: tile.stage @gated programs {{.*}} uses [@states, @normalizers]
polyattn.attention @gated(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x4xf32>,
    %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %a = elu_plus_one %x : [16]
  %b = elu_plus_one %y : [16]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c decay %g causal normalize <sum, eps = 1.0e-6>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 32, feature_block = 8,
                                     quadratic_below = 200, segment = 128, states = bf16>}
    : [16], [16], [4], tensor<?x?x?xf32>
  return %o : [4]
}
