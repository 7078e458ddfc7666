// RUN: polyattn-opt %s --polyattn-inline-maps --polyattn-simplify-features --polyattn-choose-schedule --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s
// Where queries and keys are read from one tensor, what both sides compute of it is computed once
// for a block.

polyattn.feature_map @phi(%x: [16], %w: 16x8) {
  %p = project %x, %w : [16], 16x8
  %y = elu_plus_one %p : [8]
  yield %y : [8]
}

// CHECK-LABEL: tile.kernel @one_tensor
// CHECK-COUNT-1: tile.load %x
// CHECK-NOT:     tile.load %x
// CHECK-COUNT-1: math.exp
// CHECK-NOT:     math.exp
polyattn.attention @one_tensor(%x: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x16xf32>,
    %w: tensor<?x16x8xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = apply @phi(%x, %w) : tensor<?x?x?x16xf32>, tensor<?x16x8xf32> -> [8]
  %b = apply @phi(%x, %w) : tensor<?x?x?x16xf32>, tensor<?x16x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>} : [8], [8], [16]
  return %o : [16]
}

// Other tensors may have other heads.
// CHECK-LABEL: tile.kernel @two_tensors
// CHECK:         %[[KEY_HEAD:.*]] = arith.divui %head,
// CHECK:         tile.load %k[%batch, {{%.*}}, %[[KEY_HEAD]]
polyattn.attention @two_tensors(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x16xf32>, %w: tensor<16x8xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = apply @phi(%q, %w) : tensor<?x?x?x16xf32>, tensor<16x8xf32> -> [8]
  %b = apply @phi(%k, %w) : tensor<?x?x?x16xf32>, tensor<16x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>} : [8], [8], [16]
  return %o : [16]
}
