// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s
// RUN: polyattn-opt --mlir-print-op-generic %s | polyattn-opt | FileCheck %s

// CHECK-LABEL: polyattn.feature_map @based(%x: [64], %w: 64x16) {
// CHECK-NEXT:    %0 = project %x, %w : [64], 64x16
// CHECK:         concat {{.*}} : [1], [16], sym 2 [16]
polyattn.feature_map @based(%x: [64], %w: 64x16) {
  %p = project %x, %w : [64], 64x16
  %h = scale %p {factor = 0.5} : [16]
  %one = constant {value = 1.0, width = 1}
  %xx = power %h {degree = 2, symmetric} : [16]
  %c = scale %xx {factor = 0.70710678118654757} : sym 2 [16]
  %phi = concat %one, %h, %c : [1], [16], sym 2 [16]
  yield %phi : [1] + [16] + sym 2 [16]
}

// CHECK-LABEL: polyattn.attention @based_attention(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>, %w: tensor<?x64x16xf32>) -> (o: tensor<?x?x?x32xf32>) {
// CHECK:         attend query %0 key %1 value %2 causal normalize <sum, eps = {{.*}}>
polyattn.attention @based_attention(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                    %v: tensor<?x?x?x32xf32>, %w: tensor<?x64x16xf32>)
    -> (o: tensor<?x?x?x32xf32>) {
  %a = apply @based(%q, %w) : tensor<?x?x?x64xf32>, tensor<?x64x16xf32> -> [1] + [16] + sym 2 [16]
  %b = apply @based(%k, %w) : tensor<?x?x?x64xf32>, tensor<?x64x16xf32> -> [1] + [16] + sym 2 [16]
  %c = read %v : tensor<?x?x?x32xf32> -> [32]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-12>
    : [1] + [16] + sym 2 [16], [1] + [16] + sym 2 [16], [32]
  return %o : [32]
}

// CHECK-LABEL: polyattn.attention @continued(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) first_position %first {
polyattn.attention @continued(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) first_position %first {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}
