// RUN: polyattn-opt %s --polyattn-cpu-pipeline="stop-after=tile target=x86-64-v3" | FileCheck %s
// RUN: polyattn-opt %s --polyattn-direction-pipeline=direction=decode --polyattn-cpu-pipeline="stop-after=tile target=x86-64-v3" | FileCheck %s --check-prefix=STEP

// A block goes through its keys from the last to the first, and carries keys that have decayed until its end, the factor of the rows,
// queries that have decayed until the key at hand, and their sums.
// CHECK-LABEL: tile.kernel @channels
// CHECK: %[[GATES:.*]] = tile.load %log_decay[
// CHECK: %[[FACTORS:.*]] = tile.map %[[GATES]] :
// CHECK: math.exp
// CHECK: %[[END:.*]]:4 = scf.for
// CHECK: tile.slice %[[FACTORS]]
// CHECK: tile.reduce <add> <rows>
// CHECK: tile.dot
// CHECK: scf.yield
// CHECK: %[[OLD:.*]] = tile.read %[[STATE:[0-9]+]]
// CHECK: tile.dot %[[END]]#2, %[[OLD]] acc %[[END]]#3
// CHECK: %[[ROWS:.*]] = tile.map %[[OLD]], %[[END]]#1 :
// CHECK: tile.write %[[ROWS]], %[[STATE]]
// CHECK: tile.accumulate %[[END]]#0, %{{.*}}, %[[STATE]]

// Segments leave a logarithm of each feature.
// CHECK-LABEL: tile.kernel @channels__prefix
// CHECK: tile.reduce <add> <columns>
// CHECK: store %{{.*}}, %segment_decays

// A step multiplies each row by a number of its own.
// STEP-LABEL: tile.kernel @channels__decode__step
// STEP: tile.recur %{{.*}} factor %{{.*}} : (!tile.tile<1x16xf32>, !tile.tile<1x16xf32>, !tile.tile<1x8xf32>, {{.*}}, !tile.tile<1x16xf32>)
polyattn.attention @channels<d = 16, dv = 8>(q, k: seq[d], v: seq[dv], log_decay: decay[d]) {
  return attend(q, k, v) causal normalize none decay log_decay
}
