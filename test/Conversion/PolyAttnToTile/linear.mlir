// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-choose-schedule --polyattn-to-tile | FileCheck %s

polyattn.feature_map @elu(%x: [64]) {
  %phi = elu_plus_one %x : [64]
  yield %phi : [64]
}

// CHECK-LABEL: tile.kernel @linear
// CHECK-SAME: grouping = "block", key_tensor = 2 : i64, num_inputs = 3 : i64, query_tensor = 0
// CHECK: %[[S:.*]] = buffer : <64x64>
// CHECK: %[[Z:.*]] = buffer : <64x1>
// CHECK: scf.for
// CHECK:   tile.load %v
// Features are formed once for a block of positions, transposed.
// CHECK:   tile.load %q{{.*}}transposed
// CHECK:   math.exp
// CHECK:   tile.load %k{{.*}}transposed
// CHECK:   math.exp
// Through the state, then the update.
// CHECK:   tile.dot {{.*}} {lhs_transposed}
// CHECK:   tile.reduce <add> <columns> {{.*}} bound
// CHECK:   tile.write {{.*}}, %[[Z]]
// CHECK:   tile.accumulate {{.*}}, %[[S]]{{.*}} bound
// Inside the block.
// CHECK:   tile.dot {{.*}} {lhs_transposed, lower}
// CHECK:   tile.causal_mask
// CHECK:   tile.dot {{.*}} {lower_lhs}
// CHECK:   tile.store {{.*}} valid
polyattn.attention @linear(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                           %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
    : [64], [64], [64]
  return %o : [64]
}
