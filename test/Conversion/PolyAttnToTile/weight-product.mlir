// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-simplify-features --polyattn-choose-schedule --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s
// RUN: polyattn-opt %s --polyattn-cpu-pipeline="stop-after=vector target=x86-64-v3" | FileCheck %s --check-prefix=VECTOR
// A product of weights is computed before the loops of the program; that of weights which all
// heads share even before the loop over programs, once for both sides.

polyattn.feature_map @phi(%x: [16], %w1: 16x8, %w2: 8x16) {
  %p = project %x, %w1 : [16], 16x8
  %y = project %p, %w2 : [8], 8x16
  yield %y : [16]
}

// CHECK-LABEL: tile.kernel @shared
// CHECK:         [[W:%.*]] = dot {{%.*}}, {{%.*}} : <16x8xf32>, <8x16xf32> -> <16x16xf32>
// CHECK-NOT:     dot
// CHECK:         scf.for
// CHECK-COUNT-2: tile.dot [[W]], {{%.*}} {lhs_transposed} : <16x16xf32>, <16x{{32|64}}xf32>
// CHECK-NOT:     -> <8x
// VECTOR-LABEL: func.func @shared
// VECTOR:         vector.fma
// VECTOR:         scf.for %{{.*}} = %arg1 to %arg2
polyattn.attention @shared(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %a = apply @phi(%q, %w1, %w2) : tensor<?x?x?x16xf32>, tensor<16x8xf32>, tensor<8x16xf32> -> [16]
  %b = apply @phi(%k, %w1, %w2) : tensor<?x?x?x16xf32>, tensor<16x8xf32>, tensor<8x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c causal normalize <none> : [16], [16], [16]
  return %o : [16]
}

// Both sides read the weights of their heads, so that the heads are the same.
// CHECK-LABEL: tile.kernel @per_head
// CHECK-NOT:     arith.divui
// CHECK:         load %w2[%head, {{.*}}
// CHECK:         load %w1[%head, {{.*}}
// CHECK:         [[W:%.*]] = dot {{%.*}}, {{%.*}} : <16x8xf32>, <8x16xf32> -> <16x16xf32>
// CHECK-NOT:     dot
// CHECK:         scf.for
// CHECK-COUNT-2: tile.dot [[W]], {{%.*}} {lhs_transposed} : <16x16xf32>, <16x{{32|64}}xf32>
// VECTOR-LABEL: func.func @per_head
// VECTOR-NOT:     vector.fma
// VECTOR:         scf.for %{{.*}} = %arg1 to %arg2
// VECTOR:           vector.fma
polyattn.attention @per_head(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>, %w1: tensor<?x16x8xf32>, %w2: tensor<?x8x16xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %a = apply @phi(%q, %w1, %w2) : tensor<?x?x?x16xf32>, tensor<?x16x8xf32>, tensor<?x8x16xf32> -> [16]
  %b = apply @phi(%k, %w1, %w2) : tensor<?x?x?x16xf32>, tensor<?x16x8xf32>, tensor<?x8x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c causal normalize <none> : [16], [16], [16]
  return %o : [16]
}
