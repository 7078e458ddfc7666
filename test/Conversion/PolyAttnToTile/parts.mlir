// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// A head that is cut by its features: a program has several parts in turn, whose sums are apart.
// What they form features of, here projections whose products are features, is there once for all of
// them, and their states lie in one buffer.
// CHECK-LABEL: tile.kernel @cut programs
// CHECK: ^bb0(%q: {{.*}}, %partial: memref<?x?x?x?x?xf32, {{.*}}>, %launch: memref<4xi64
// CHECK: %[[FIRST:.*]] = arith.index_cast {{.*}} : i64 to index
// CHECK: %[[BEHIND:.*]] = arith.index_cast {{.*}} : i64 to index
// CHECK: %[[PARTS:.*]] = memref.dim %partial, %c0
// CHECK: %[[STATE:.*]] = buffer {persistent} : <36x16>
// CHECK: scf.for {{.*}} step %c16 {
// CHECK-COUNT-2: tile.dot {{.*}} <64x8xf32>, <64x16xf32> -> <8x16xf32>
// CHECK: scf.for %[[PART:.*]] = %[[FIRST]] to %[[BEHIND]] step %c1 {
// CHECK-NOT: <64x8xf32>
// CHECK: tile.read %[[STATE]]
// CHECK: tile.store {{.*}}, %partial[%[[PART]], %batch,
// CHECK: tile.entry @cut
// CHECK: tile.stage @cut programs [dim(0, 0), dim(0, 2)] uses [@partial, @launch] per_split
polyattn.attention @cut(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x16xf32>,
                        %w: tensor<64x8xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %weight = read %w : tensor<64x8xf32> -> 64x8
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %p = project %x, %weight : [64], 64x8
  %phi_q = power 2 %p {symmetric} : [8]
  %y = read %k : tensor<?x?x?x64xf32> -> [64]
  %r = project %y, %weight : [64], 64x8
  %phi_k = power 2 %r {symmetric} : [8]
  %values = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %phi_q key %phi_k value %values causal normalize <none> {schedule = #polyattn.schedule<form = state,
      diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>} : sym 2 [8], sym 2 [8], [16]
  return %o : [16]
}
