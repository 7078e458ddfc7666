// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-heads=0 cut-positions=1 cluster-size=2 shared-bytes=232448" --polyattn-step-kernels --polyattn-to-tile --tile-fuse-windows --cse --canonicalize --tile-narrow-loads --cse | FileCheck %s
// RUN: sed "s/feature_block = 128/feature_block = 64/" %s | polyattn-opt --polyattn-inline-maps --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-heads=0 cut-positions=1 cluster-size=4 shared-bytes=60000" --polyattn-step-kernels --polyattn-to-tile --tile-fuse-windows --cse --canonicalize --tile-narrow-loads --cse | FileCheck %s --check-prefix=FOUR
// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-heads=0 cut-positions=1 cluster-size=2 shared-bytes=10000000" --polyattn-step-kernels --polyattn-to-tile | FileCheck %s --check-prefix=ALONE
// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-heads=0 cut-positions=1 cluster-size=2 shared-bytes=32000" --polyattn-step-kernels --polyattn-to-tile | FileCheck %s --check-prefix=ALONE
// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-heads=1 cluster-size=2 shared-bytes=232448" --polyattn-step-kernels --polyattn-to-tile | FileCheck %s --check-prefix=PARTS

// A state of 256 x 64 and weights: 163 KB, more than half of the shared memory of one
// multiprocessor. Each of two programs has the state, and the weights, of 128 features.

polyattn.feature_map @map(%x: [64], %theta: 64x256, %bias: 256) {
  %y = project %x, %theta : [64], 64x256
  %z = add_vec %y, %bias : [256], 256
  %phi = softplus %z : [256]
  yield %phi : [256]
}

// CHECK: tile.kernel @shared {{.*}}cluster = 2 : i64
// CHECK: %[[RANK:.*]] = cluster_rank : index
// CHECK: %[[BEGIN:.*]] = arith.muli %[[RANK]], %c128
// CHECK-DAG: load %bias[%[[BEGIN]]] {{.*}} -> <128x1xf32>
// CHECK-DAG: %[[THETA:.*]] = load %theta[%c0, %[[BEGIN]]] {{.*}} -> <64x128xf32>
// CHECK: %[[KEY_HEAD:.*]] = arith.divui %head,
// CHECK: buffer : <128x64>
// CHECK: buffer : <128x1>
// Segments of positions have the whole state; each program takes its rows.
// CHECK: tile.load %segment_states[%{{.*}}, %batch, %[[KEY_HEAD]], %[[BEGIN]], %c0] {{.*}} -> <128x64xf32>
// No slices are left where a program has one block of features.
// CHECK-NOT: slice
// CHECK: tile.dot %[[THETA]],
// CHECK: %[[O:.*]] = tile.cluster_sum %{{.*}} : <64x64xf32>
// CHECK: %[[Z:.*]] = tile.cluster_sum %{{.*}} : <64x1xf32>
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]], %c0
// CHECK: scf.if %[[FIRST]]
// CHECK: tile.store {{.*}} %o
// CHECK: tile.store {{.*}} %final[%batch, %[[KEY_HEAD]], %[[BEGIN]], %c0]
// CHECK: tile.kernel @shared__prefix {{.*}}cluster = 2 : i64
// CHECK-NOT: cluster_sum
// CHECK: store {{.*}} %segment_states[%segment, %batch, %head, %{{.*}}, %c0]

// With four, features of 64 in each.
// FOUR: tile.kernel @shared {{.*}}cluster = 4 : i64
// FOUR: -> <64x64xf32>
// FOUR: buffer : <64x64>

// What a launch cuts is not there for a cluster to share.
// PARTS-NOT: cluster
// PARTS: tile.kernel @shared programs
// PARTS-NOT: cluster
// PARTS: tile.choose splits {{.*}}max = 2 : i64

// ALONE: tile.kernel @shared
// ALONE-NOT: cluster
polyattn.attention @shared(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
    %theta: tensor<64x256xbf16>, %bias: tensor<256xbf16>)
    -> (o: tensor<?x?x?x64xbf16>, final: tensor<?x?x256x64xf32>, final_z: tensor<?x?x256xf32>) {
  %phi_q = apply @map(%q, %theta, %bias) : tensor<?x?x?x64xbf16>, tensor<64x256xbf16>, tensor<256xbf16> -> [256]
  %phi_k = apply @map(%k, %theta, %bias) : tensor<?x?x?x64xbf16>, tensor<64x256xbf16>, tensor<256xbf16> -> [256]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o:3 = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {final_state, grouping = #polyattn.grouping<block>,
       schedule = #polyattn.schedule<form = state, diagonal = features, block = 64, feature_block = 128, quadratic_below = 0>}
    : [256], [256], [64]
  return %o#0, %o#1, %o#2 : [64], tensor<?x?x256x64xf32>, tensor<?x?x256xf32>
}
