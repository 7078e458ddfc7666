// RUN: polyattn-opt %s --polyattn-choose-schedule --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels --polyattn-to-tile | FileCheck %s

// A side's weights may be no numbers of f32 though their products with those of the other side are. A state
// that is given has them: it is divided by them in two steps, each by a number of f32, so that zeros stay zeros.
// CHECK-LABEL: tile.kernel @given
// CHECK: constant_column {values = array<f64: 7.8886090522101{{[0-9]+}}E+29,
// CHECK: constant_column {values = array<f64: 1.2676506002282{{[0-9]+}}E+30,
// CHECK-NOT: E+60
polyattn.attention @given(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
                          %s: tensor<?x?x16x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %xq = read %q : tensor<?x?x?x4xf32> -> [4]
  %xk = read %k : tensor<?x?x?x4xf32> -> [4]
  %y = read %v : tensor<?x?x?x8xf32> -> [8]
  %sq = scale %xq {factor = 1.0e+30} : [4]
  %sk = scale %xk {factor = 1.0e-30} : [4]
  %pq = power 2 %sq : [4]
  %pk = power 2 %sk : [4]
  %o = attend query %pq key %pk value %y initial %s causal normalize <none>
    : pow 2 [4], pow 2 [4], [8], tensor<?x?x16x8xf32>
  return %o : [8]
}
