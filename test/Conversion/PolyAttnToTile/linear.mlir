// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-choose-schedule --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile | FileCheck %s

polyattn.feature_map @elu(%x: [64]) {
  %phi = elu_plus_one %x : [64]
  yield %phi : [64]
}

// CHECK-LABEL: tile.kernel @linear
// CHECK-SAME: programs [dim(0, 0), dim(0, 2)] {{.*}}num_inputs = 3 : i64
// CHECK: %[[S:.*]] = buffer : <64x64>
// CHECK: %[[Z:.*]] = buffer : <64x1>
// CHECK: scf.for
// CHECK:   tile.load %v
// Features are formed once for a block of positions: those of keys transposed, those of queries,
// where nothing else is needed, as they lie in memory.
// CHECK:   %[[K:.*]] = tile.load %k{{.*}}transposed
// CHECK:   %[[PHI_K:.*]] = tile.map %[[K]]
// CHECK:   math.exp
// CHECK:   %[[Q:.*]] = tile.load %q
// CHECK-NOT: transposed
// CHECK:   %[[PHI_Q:.*]] = tile.map %[[Q]]
// CHECK:   math.exp
// Through the state, then the update.
// CHECK:   %[[STATE:.*]] = tile.read %[[S]]
// CHECK:   tile.dot %[[PHI_Q]], %[[STATE]] acc
// CHECK-NOT: lhs_transposed
// CHECK:   tile.reduce <add> <columns> %[[PHI_K]] bound
// CHECK:   tile.write {{.*}}, %[[Z]]
// CHECK:   tile.accumulate %[[PHI_K]], {{.*}}, %[[S]]{{.*}} bound
// Inside the block, of which nothing reads what lies above the diagonal.
// CHECK:   tile.dot %[[PHI_Q]], %[[PHI_K]] {lower}
// CHECK:   tile.causal_mask
// CHECK:   tile.dot {{.*}} {lower_lhs}
// CHECK:   tile.reduce <add> <columns> {{.*}} {lower}
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
