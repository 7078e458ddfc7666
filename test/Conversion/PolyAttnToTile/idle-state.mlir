// RUN: polyattn-opt %s --polyattn-choose-schedule=short-block=16 --polyattn-to-tile="cut-heads=false skip-idle-state" | FileCheck %s
// RUN: polyattn-opt %s --polyattn-to-tile="cut-heads=false" | FileCheck %s --check-prefix=PLAIN

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
