// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-choose-schedule --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-positions=0 cut-heads=0" --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// A program is a batch and a head of queries. Which head of keys serves it is arithmetic in the
// kernel's body, said once for lowerings and interpreter: head / (H / Hkv), or head mod Hkv.

// CHECK-LABEL: tile.kernel @block programs [dim(0, 0), dim(0, 2)]
// CHECK-DAG: %[[H:.*]] = memref.dim %q, %c2
// CHECK-DAG: %[[HKV:.*]] = memref.dim %v, %c2
// CHECK: %[[GROUP:.*]] = arith.divui %[[H]], %[[HKV]]
// CHECK: %[[KEY_HEAD:.*]] = arith.divui %head, %[[GROUP]]
// CHECK: tile.load %v[%batch, %{{.*}}, %[[KEY_HEAD]]
// The first head of a group stores the state.
// CHECK: %[[FIRST:.*]] = arith.muli %[[KEY_HEAD]], %[[GROUP]]
// CHECK: arith.cmpi eq, %head, %[[FIRST]]
polyattn.attention @block(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>, s: tensor<?x?x16x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o:2 = attend query %a key %b value %c causal normalize <none>
      {final_state, grouping = #polyattn.grouping<block>} : [16], [16], [16]
  return %o#0, %o#1 : [16], tensor<?x?x16x16xf32>
}

// CHECK-LABEL: tile.kernel @interleaved programs [dim(0, 0), dim(0, 2)]
// CHECK: %[[HKV:.*]] = memref.dim %v, %c2
// CHECK: %[[KEY_HEAD:.*]] = arith.remui %head, %[[HKV]]
// CHECK: tile.load %v[%batch, %{{.*}}, %[[KEY_HEAD]]
// CHECK: arith.cmpi eq, %head, %[[KEY_HEAD]]
polyattn.attention @interleaved(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>, s: tensor<?x?x16x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o:2 = attend query %a key %b value %c causal normalize <none>
      {final_state, grouping = #polyattn.grouping<interleaved>} : [16], [16], [16]
  return %o#0, %o#1 : [16], tensor<?x?x16x16xf32>
}

// With as many heads of keys as of queries nothing is divided.
// CHECK-LABEL: tile.kernel @equal programs [dim(0, 0), dim(0, 2)]
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: tile.load %v[%batch, %{{.*}}, %head
polyattn.attention @equal(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c causal normalize <none> : [16], [16], [16]
  return %o : [16]
}
