// RUN: polyattn-opt %s --polyattn-choose-schedule=short-block=16 --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels --polyattn-to-tile=skip-idle-state | FileCheck %s
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels --polyattn-to-tile | FileCheck %s --check-prefix=PLAIN

// Without the options a kernel has one program, whose products with the state have all terms.
// PLAIN-LABEL: tile.kernel @plain
// PLAIN-NOT:     scf.if
// PLAIN-NOT:     arith.select
// PLAIN:       tile.kernel @asked

// Calls of 1 to 16 positions are one block of 16: pairs by scores, no buffers, no loops. In others
// the first block reads no state, and the last one puts nothing into it.
// CHECK-LABEL: tile.kernel @plain
// CHECK:         %[[LAST:.*]] = arith.subi %{{.*}}, %c1
// CHECK:         %[[SHORT:.*]] = arith.cmpi ult, %[[LAST]], %c16
// CHECK:         scf.if %[[SHORT]] {
// CHECK-NOT:       tile.buffer
// CHECK-NOT:       scf.for
// CHECK:           tile.dot {{.*}} -> <16x16xf32>
// CHECK:         } else {
// CHECK:           %[[STATE:.*]] = {{.*}}buffer : <16x8>
// CHECK:           scf.for %[[POSITION:[a-z0-9]+]] =
// CHECK-DAG:         %[[FILLED:.*]] = arith.cmpi sgt, %[[POSITION]], %{{.*}}
// CHECK-DAG:         %[[READ:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}}
// CHECK-DAG:         %[[KEYS:.*]] = arith.select %[[READ]], %{{.*}}, %{{.*}}
// CHECK-DAG:         %[[TERMS:.*]] = arith.select %[[FILLED]], %{{.*}}, %{{.*}}
// CHECK:             tile.dot {{.*}} bound %[[TERMS]]
// CHECK:             tile.accumulate {{.*}} bound %[[KEYS]]
polyattn.attention @plain(%q: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %x key %x value %y causal normalize <none> : [16], [16], [8]
  return %o : [8]
}

// A state that is given is read, one that is asked for is updated, in calls of any length.
// CHECK-LABEL: tile.kernel @asked
// CHECK-NOT:     scf.if
// CHECK-NOT:     arith.select
// CHECK:         tile.accumulate
polyattn.attention @asked(%q: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>, %s: tensor<?x?x16x8xf32>)
    -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x16x8xf32>) {
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %v : tensor<?x?x?x8xf32> -> [8]
  %o:2 = attend query %x key %x value %y initial %s causal normalize <none> {final_state}
    : [16], [16], [8], tensor<?x?x16x8xf32>
  return %o#0, %o#1 : [8], tensor<?x?x16x8xf32>
}

// A call that a local kernel's run is long enough for reads no state at all: its blocks form no
// features of queries, here of a projection. What scores need as well is there for both.
// CHECK-LABEL: tile.kernel @local
// CHECK:         scf.for %[[START:[a-z0-9]+]] = {{.*}} step %c32
// CHECK:         %[[BEFORE:.*]] = arith.cmpi sgt, %[[START]], %c0
// CHECK:         %[[TIMES:.*]] = arith.select %[[BEFORE]], %c1{{.*}}, %c0
// CHECK:         scf.for {{.*}} to %[[TIMES]] step {{.*}} iter_args
// CHECK:           tile.dot {{.*}} <16x4xf32>, <16x16xf32> -> <4x16xf32>
// CHECK-NEXT:      scf.yield
polyattn.attention @local(%q: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>, %w: tensor<16x4xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %weight = read %w : tensor<16x4xf32> -> 16x4
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %p = project %x, %weight : [16], 16x4
  %phi = power 2 %p {symmetric} : [4]
  %y = read %v : tensor<?x?x?x8xf32> -> [8]
  %exact = power 2 %x {symmetric} : [16]
  %o = attend query %phi key %phi value %y local %exact, %exact causal normalize <none>
      {block = 32, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 10, quadratic_below = 0>}
    : sym 2 [4], sym 2 [4], [8], sym 2 [16], sym 2 [16]
  return %o : [8]
}
