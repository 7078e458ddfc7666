// RUN: polyattn-opt %s --polyattn-set-dtype=type=bf16 | FileCheck %s
// RUN: polyattn-opt %s --polyattn-set-dtype=type=bf16 | polyattn-opt --polyattn-set-dtype=type=f32 | polyattn-opt - -o %t.back
// RUN: polyattn-opt %s -o %t.spec && diff %t.spec %t.back
// RUN: not polyattn-opt %s --polyattn-set-dtype=type=f64 2>&1 | FileCheck %s --check-prefix=UNKNOWN

polyattn.feature_map @map(%x: [16], %w: 16x8) {
  %phi = project %x, %w : [16], 16x8
  yield %phi : [8]
}

// Tensors change; gates, states and final states do not.
// CHECK-LABEL: attention @stateful
// CHECK-SAME: %q: tensor<?x?x?x16xbf16>, %k: tensor<?x?x?x16xbf16>, %v: tensor<?x?x?x4xbf16>, %w: tensor<16x8xbf16>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x8x4xf32>) -> (o: tensor<?x?x?x4xbf16>, final: tensor<?x?x8x4xf32>)
// CHECK: apply @map(%q, %w) : tensor<?x?x?x16xbf16>, tensor<16x8xbf16> -> [8]
polyattn.attention @stateful(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
    %v: tensor<?x?x?x4xf32>, %w: tensor<16x8xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x8x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, final: tensor<?x?x8x4xf32>) {
  %phi_q = apply @map(%q, %w) : tensor<?x?x?x16xf32>, tensor<16x8xf32> -> [8]
  %phi_k = apply @map(%k, %w) : tensor<?x?x?x16xf32>, tensor<16x8xf32> -> [8]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %phi_q key %phi_k value %values decay %g initial %s
      causal normalize <none>
      {final_state, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [8], [8], [4], tensor<?x?x?xf32>, tensor<?x?x8x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x8x4xf32>
}

polyattn.feature_map @turned(%x: [16], %f: 4) {
  %phi = rope %x, %f {layout = #polyattn.rope_layout<half>, dims = 8, offset = 0.0, scale = 1.0}
    : [16], 4
  yield %phi : [16]
}

// Nor do rotary frequencies, shared or per head, and positions; tables do.
// CHECK-LABEL: attention @rotary
// CHECK-SAME: %q: tensor<?x?x?x16xbf16>, %f: tensor<4xf32>, %fh: tensor<?x4xf32>, %p: tensor<?x1x16xbf16>, %first: tensor<?xi64>)
polyattn.attention @rotary(%q: tensor<?x?x?x16xf32>, %f: tensor<4xf32>, %fh: tensor<?x4xf32>,
    %p: tensor<?x1x16xf32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x16xf32>) first_position %first {
  %a = apply @turned(%q, %f) : tensor<?x?x?x16xf32>, tensor<4xf32> -> [16]
  %b = apply @turned(%q, %fh) : tensor<?x?x?x16xf32>, tensor<?x4xf32> -> [16]
  %c = read %p : tensor<?x1x16xf32> -> [16]
  %d = add %a, %c : [16], [16]
  %o = attend query %d key %b value %a causal normalize <none>
    {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  return %o : [16]
}

// UNKNOWN: error: expected a dtype of f32, bf16 or f16, got 'f64'

// The factors of rows do not.
// CHECK-LABEL: attention @kept
// CHECK-SAME: -> (o: tensor<?x?x?x16xbf16>, o_factors: tensor<?x?x?x2xf32>)
polyattn.attention @kept(%q: tensor<?x?x?x16xf32>)
    -> (o: tensor<?x?x?x16xf32>, o_factors: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %o:2 = attend query %a key %a value %a causal normalize <sum, eps = 0.0>
    {grouping = #polyattn.grouping<block>, signed_scores, factors} : [16], [16], [16]
  return %o#0, %o#1 : [16], [2]
}
