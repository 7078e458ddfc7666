// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-positions --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-positions subsegments=3" --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s --check-prefix=SUBSEGMENTS
// RUN: not polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-positions subsegments=0" --polyattn-step-kernels --polyattn-to-tile 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s --check-prefix=WHOLE
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-positions --polyattn-step-kernels --polyattn-to-tile --tile-to-vector --polyattn-vector-to-llvm-pipeline | FileCheck %s --check-prefix=CPU

// Positions cut into segments: a kernel that begins with what the segments before its own have
// stored, and one that stores it.

// WHOLE-NOT: segment
// How they are launched stays beside the functions for processors.
// CPU: llvm.func @gated({{.*}}tile.scratch_bytes =
// CPU: llvm.func @gated__prefix({{.*}}tile.scratch_bytes =
// CPU: tile.entry @gated tensors
// CPU: tile.stage @gated__prefix role segment_sums programs

// NONE: error: expected subsegments from 1 to 1024 and a cluster-size of 1, 2, 4 or 8, got 0 and 1

// A segment adds three states of each one before it. A subsegment is a third of a segment in whole blocks, and
// ends where the segment ends. What its ends are is checked by numbers (test/Integration/Kernels/segments-cpu.test).
// SUBSEGMENTS-LABEL: tile.kernel @gated programs [segments, dim(0, 0), dim(0, 2)] attributes
// SUBSEGMENTS: %[[SUMS:.*]] = memref.dim %segment_states, %c0
// SUBSEGMENTS: %[[SEGMENTS:.*]] = arith.divui %[[SUMS]], %c3
// SUBSEGMENTS: arith.addi %[[SEGMENTS]], %c1
// SUBSEGMENTS: %[[BEFORE:.*]] = arith.muli %segment, %c3
// SUBSEGMENTS: scf.for %{{.*}} = %c0 to %[[BEFORE]] step %c1
// SUBSEGMENTS-LABEL: tile.kernel @gated__prefix programs [3 * (segments - 1), dim(2, 0), dim(2, 2)] attributes
// SUBSEGMENTS: %[[T:.*]] = memref.dim %v
// SUBSEGMENTS-DAG: arith.divui %segment, %c3
// SUBSEGMENTS-DAG: arith.remui %segment, %c3
// SUBSEGMENTS: %[[LIMIT:.*]] = arith.minsi %{{.*}}, %[[T]] : index
// SUBSEGMENTS: %[[FROM:.*]] = arith.minsi %{{.*}}, %[[LIMIT]] : index
// SUBSEGMENTS: %[[TO:.*]] = arith.minsi %{{.*}}, %[[LIMIT]] : index
// SUBSEGMENTS: scf.for %{{.*}} = %[[FROM]] to %[[TO]] step %c32
// SUBSEGMENTS-LABEL: tile.entry @gated
// SUBSEGMENTS: tile.workspace @segment_states : f32 [3 * (segments - 1),
// SUBSEGMENTS: tile.stage @gated__prefix role segment_sums programs [3 * (segments - 1), dim(2, 0), dim(2, 2)]
// SUBSEGMENTS: tile.choose segments {{.*}} subsegments = 3 : i64}

// CHECK-LABEL: tile.kernel @gated programs [segments, dim(0, 0), dim(0, 2)] attributes
// CHECK-SAME: num_inputs = 6
// CHECK: ^bb0({{.*}}%segment_states: memref<?x?x?x16x32xf32, {{.*}}%segment_normalizers: memref<?x?x?x16xf32, {{.*}}%segment_decays: memref<?x?x?xf32, {{[^%]*}}):
// CHECK-DAG: %segment = program_id 0
// CHECK-DAG: %[[KEY_HEAD:.*]] = arith.divui %head, %{{.*}} : index
// The segment's length is a multiple of the block, and it ends with the positions.
// CHECK-DAG: %[[T:.*]] = memref.dim %v
// CHECK-DAG: %[[BEFORE:.*]] = memref.dim %segment_states, %c0
// CHECK: %[[S:.*]] = arith.addi %[[BEFORE]], %c1
// CHECK: %[[LENGTH:.*]] = arith.muli {{.*}}, %c32
// CHECK: %[[BEGIN:.*]] = arith.minsi %{{.*}}, %[[T]]
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[T]]
// The initial state, then the segments before this one.
// CHECK: load %s[%batch, %[[KEY_HEAD]]
// CHECK: %[[FOLD:.*]]:2 = scf.for %[[I:.*]] = %c0 to %segment step %c1 iter_args(%[[STATE:.*]] = %{{.*}}, %[[NORMALIZER:.*]] = %{{.*}})
// CHECK:   %[[LOG:.*]] = tile.load %segment_decays[%[[I]], %batch, %[[KEY_HEAD]]]
// CHECK:   %[[FACTOR:.*]] = tile.map %[[LOG]]
// CHECK:     math.exp
// CHECK:   %[[SUM:.*]] = tile.load %segment_states[%[[I]], %batch, %[[KEY_HEAD]], %c0, %c0]
// CHECK:   tile.map %[[STATE]], %[[FACTOR]], %[[SUM]]
// CHECK:   tile.load %segment_normalizers[%[[I]], %batch, %[[KEY_HEAD]], %c0]
// CHECK: write %[[FOLD]]#0
// CHECK: write %[[FOLD]]#1
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %c32
// CHECK:   tile.store {{.*}}, %o
// The last segment writes the final state, once for a group of heads.
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %{{.*}}, %[[S]]
// CHECK: scf.if %[[LAST]]
// CHECK:   scf.if
// CHECK:     tile.store {{.*}}, %final

// CHECK-LABEL: tile.kernel @gated__prefix programs [segments - 1, dim(2, 0), dim(2, 2)] attributes
// CHECK-NOT: load %q
// CHECK-NOT: load %s[
// CHECK: %[[DECAY:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (!tile.tile<1x1xf32>)
// CHECK:   tile.load %v[%batch, {{.*}}, %head
// CHECK:   tile.cumulative_sum
// CHECK:   tile.accumulate
// CHECK: store %[[DECAY]], %segment_decays[%segment, %batch, %head] {col_dim = -1 : i64, row_dim = -1 : i64}
// CHECK: store {{.*}}, %segment_states[%segment, %batch, %head, %c0, %c0] {col_dim = 4 : i64, row_dim = 3 : i64}
// CHECK: store {{.*}}, %segment_normalizers[%segment, %batch, %head, %c0] {col_dim = -1 : i64, row_dim = 3 : i64}
// CHECK-LABEL: tile.entry @gated tensors 9 inputs 6 {
// CHECK-NEXT: tile.workspace @segment_states : f32 [segments - 1, dim(0, 0), dim(2, 2), 16, 32]
// CHECK-NEXT: tile.workspace @segment_normalizers : f32 [segments - 1, dim(0, 0), dim(2, 2), 16]
// CHECK-NEXT: tile.workspace @segment_decays : f32 [segments - 1, dim(0, 0), dim(2, 2)]
// CHECK-NEXT: tile.stage @gated__prefix role segment_sums programs [segments - 1, dim(2, 0), dim(2, 2)] uses [@segment_states, @segment_normalizers, @segment_decays]
// CHECK-NEXT: tile.stage @gated programs [segments, dim(0, 0), dim(0, 2)] uses [@segment_states, @segment_normalizers, @segment_decays]
// CHECK-NEXT: tile.choose segments of dim(0, 1) {block = 32 : i64, min_positions = 0 : i64, multiple = 32 : i64, prefix_cost_percent = {{[1-9][0-9]}} : i64, subsegments = 1 : i64}
// CHECK-NEXT: }
polyattn.attention @gated(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x32xf32>,
    %g: tensor<?x?x?xf32>, %s: tensor<?x?x16x32xf32>, %z: tensor<?x?x16xf32>)
    -> (o: tensor<?x?x?x32xf32>, final: tensor<?x?x16x32xf32>, final_z: tensor<?x?x16xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %a = relu %x : [16]
  %b = relu %y : [16]
  %c = read %v : tensor<?x?x?x32xf32> -> [32]
  %o:3 = attend query %a key %b value %c decay %g initial %s initial_normalizer %z
      causal normalize <bias, bias = 1.0> {final_state, grouping = #polyattn.grouping<block>}
    : [16], [16], [32], tensor<?x?x?xf32>, tensor<?x?x16x32xf32>, tensor<?x?x16xf32>
  return %o#0, %o#1, %o#2 : [32], tensor<?x?x16x32xf32>, tensor<?x?x16xf32>
}

// Decays that are the same for all positions are multiplied; states of query heads have programs of
// query heads. Without an initial state the first segment has nothing to begin with.
// CHECK-LABEL: tile.kernel @head_decay programs
// CHECK: %[[LATER:.*]] = arith.cmpi ne, %segment, %c0
// CHECK: scf.if %[[LATER]] {
// CHECK: %[[ROWS:.*]] = scf.for
// CHECK:   tile.load %segment_states[%{{.*}}, %batch, %head
// CHECK: tile.write %[[ROWS]]
// CHECK-LABEL: tile.kernel @head_decay__prefix programs [segments - 1, dim(0, 0), dim(0, 2)]
// CHECK: scf.for {{.*}} = %[[FROM:.*]] to %[[TO:.*]] step %c32 {
// CHECK: %[[COUNT:.*]] = arith.subi %[[TO]], %[[FROM]] : index
// CHECK: %[[POSITIONS:.*]] = iota %[[COUNT]]
// CHECK: %[[TOTAL:.*]] = map %[[POSITIONS]]
// CHECK: store %[[TOTAL]], %segment_decays
// CHECK-LABEL: tile.entry @head_decay
// CHECK-NEXT: tile.workspace @segment_states : f32 [segments - 1, dim(0, 0), dim(0, 2), 16, 16]
// CHECK-NEXT: tile.workspace @segment_decays : f32 [segments - 1, dim(0, 0), dim(0, 2)]
// CHECK-NEXT: tile.stage @head_decay__prefix role segment_sums programs [segments - 1, dim(0, 0), dim(0, 2)]
polyattn.attention @head_decay(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>, %g: tensor<?xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c decay %g causal normalize <none>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [16], [16], [16], tensor<?xf32>
  return %o : [16]
}

// Runs of blocks of a local kernel stay whole.
// CHECK-LABEL: tile.kernel @local programs
// CHECK: arith.divui {{.*}}, %c256
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c256
// CHECK-LABEL: tile.entry @local
// CHECK: tile.choose segments of dim(0, 1) {block = 64 : i64, min_positions = 0 : i64, multiple = 256 : i64,
polyattn.attention @local(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c local %a, %b
      causal normalize <none>
      {block = 256, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 16, quadratic_below = 0>, grouping = #polyattn.grouping<block>}
    : [16], [16], [16], [16], [16]
  return %o : [16]
}

// Every query sees every key: one segment.
// CHECK-LABEL: tile.kernel @full programs
// CHECK-NOT: segment
// CHECK-LABEL: tile.entry @full
// CHECK-NEXT: tile.stage @full programs [dim(0, 0), dim(0, 2)]{{$}}
// CHECK-NEXT: }
polyattn.attention @full(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c full normalize <none> {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  return %o : [16]
}
