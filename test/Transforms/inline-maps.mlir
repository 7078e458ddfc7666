// RUN: polyattn-opt --polyattn-inline-maps %s | FileCheck %s --implicit-check-not=feature_map
// RUN: polyattn-opt --polyattn-inline-maps --mlir-print-debuginfo %s | FileCheck %s --check-prefix=LOC

polyattn.feature_map @square(%x: [4], %w: 4x8) {
  %p = project %x, %w : [4], 4x8
  %phi = hadamard %p, %p : [8], [8] loc("square.mlir":7:1)
  yield %phi : [8]
}

polyattn.feature_map @unused(%x: [4]) {
  yield %x : [4]
}

// The example of the pass's documentation: the weight is read once, for both maps.
// CHECK-LABEL: polyattn.attention @squares
// CHECK-NEXT:    [[X:%.*]] = read %q : tensor<?x?x?x4xf32> -> [4]
// CHECK-NEXT:    [[W:%.*]] = read %w : tensor<4x8xf32> -> 4x8
// CHECK-NEXT:    [[P:%.*]] = project [[X]], [[W]] : [4], 4x8
// CHECK-NEXT:    [[PHIQ:%.*]] = hadamard [[P]], [[P]] : [8], [8]
// CHECK-NEXT:    [[Y:%.*]] = read %k : tensor<?x?x?x4xf32> -> [4]
// CHECK-NEXT:    [[R:%.*]] = project [[Y]], [[W]] : [4], 4x8
// CHECK-NEXT:    [[PHIK:%.*]] = hadamard [[R]], [[R]] : [8], [8]
// CHECK-NEXT:    [[V:%.*]] = read %v
// CHECK-NEXT:    attend query [[PHIQ]] key [[PHIK]] value [[V]]
// LOC:           hadamard {{.*}} loc([[SQUARE:#.*]])
// LOC:           [[SQUARE]] = loc("square.mlir":7:1)
polyattn.attention @squares(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>,
                            %v: tensor<?x?x?x4xf32>, %w: tensor<4x8xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %phi_q = apply @square(%q, %w) : tensor<?x?x?x4xf32>, tensor<4x8xf32> -> [8]
  %phi_k = apply @square(%k, %w) : tensor<?x?x?x4xf32>, tensor<4x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %phi_q key %phi_k value %values causal normalize <none> : [8], [8], [4]
  return %o : [4]
}

// A read of the spec's own is used again, and vectors are passed on as they are.
// CHECK-LABEL: polyattn.attention @vectors
// CHECK-NEXT:    [[X:%.*]] = read %q
// CHECK-NEXT:    [[W:%.*]] = read %w
// CHECK-NEXT:    [[S:%.*]] = scale [[X]]
// CHECK-NEXT:    [[P:%.*]] = project [[S]], [[W]]
// CHECK-NEXT:    [[PHIQ:%.*]] = hadamard [[P]], [[P]]
// CHECK-NEXT:    [[R:%.*]] = project [[X]], [[W]]
// CHECK-NEXT:    [[PHIK:%.*]] = hadamard [[R]], [[R]]
// CHECK-NEXT:    attend query [[PHIQ]] key [[PHIK]] value [[X]]
polyattn.attention @vectors(%q: tensor<?x?x?x4xf32>, %w: tensor<?x4x8xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %theta = read %w : tensor<?x4x8xf32> -> 4x8
  %s = scale %x {factor = 2.0} : [4]
  %phi_q = apply @square(%s, %theta) : [4], 4x8 -> [8]
  %phi_k = apply @square(%q, %w) : tensor<?x?x?x4xf32>, tensor<?x4x8xf32> -> [8]
  %o = attend query %phi_q key %phi_k value %x causal normalize <none> : [8], [8], [4]
  return %o : [4]
}
