// Attention with rotary positions and a polynomial for exp: the separable case of "Fast RoPE
// Attention" (Alman and Song 2025). The score is P(s), s = <R_i q, R_j k> / sqrt(d'), where rotations of
// both sides turn the pair by its distance, R_i^T R_j = R_{j-i}. So P of it has features, and no
// position is more than a rotation of a vector.
//
// P is the polynomial of degree 2 or 4 with the least largest |P(s) / exp(s) - 1| on |s| <= 1, as the sum
// normalizer cancels common factors: `scripts/exp-polynomial --degree 4` gives its coefficients, whose roots
// stand here, 4.0e-2 and 5.0e-4 off. It is positive everywhere. docs/FastRoPE.md has the errors of outputs
// against softmax attention, and other bounds. Features: d' = 8: 45 and 495, d' = 16: 153 and 4845.

polyattn.feature_map @exp_2_8(%x: [8], %freqs: 4) {
  %r = rope %x, %freqs {layout = #polyattn.rope_layout<interleaved>, dims = 8, offset = 0.0,
      scale = 1.0} : [8], 4
  %h = scale %r {factor = 0.59460355750136051} : [8]
  %c0 = constant {value = 1.0134232833691079, width = 1}
  %c1 = scale %h {factor = 1.0554046585996855} : [8]
  %h2 = power %h {degree = 2, symmetric} : [8]
  %c2 = scale %h2 {factor = 0.68509215015205138} : sym 2 [8]
  %phi = concat %c0, %c1, %c2
    : [1], [8], sym 2 [8]
  yield %phi : [1] + [8] + sym 2 [8]
}

polyattn.feature_map @exp_4_8(%x: [8], %freqs: 4) {
  %r = rope %x, %freqs {layout = #polyattn.rope_layout<interleaved>, dims = 8, offset = 0.0,
      scale = 1.0} : [8], 4
  %h = scale %r {factor = 0.59460355750136051} : [8]
  %c0 = constant {value = 0.99981393065800361, width = 1}
  %c1 = scale %h {factor = 0.99896883274586223} : [8]
  %h2 = power %h {degree = 2, symmetric} : [8]
  %c2 = scale %h2 {factor = 0.7091534742413127} : sym 2 [8]
  %h3 = power %h {degree = 3, symmetric} : [8]
  %c3 = scale %h3 {factor = 0.4201026459666049} : sym 3 [8]
  %h4 = power %h {degree = 4, symmetric} : [8]
  %c4 = scale %h4 {factor = 0.19990726681145576} : sym 4 [8]
  %phi = concat %c0, %c1, %c2, %c3, %c4
    : [1], [8], sym 2 [8], sym 3 [8], sym 4 [8]
  yield %phi : [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8]
}

polyattn.feature_map @exp_2_16(%x: [16], %freqs: 8) {
  %r = rope %x, %freqs {layout = #polyattn.rope_layout<interleaved>, dims = 16, offset = 0.0,
      scale = 1.0} : [16], 8
  %h = scale %r {factor = 0.5} : [16]
  %c0 = constant {value = 1.0134232833691079, width = 1}
  %c1 = scale %h {factor = 1.0554046585996855} : [16]
  %h2 = power %h {degree = 2, symmetric} : [16]
  %c2 = scale %h2 {factor = 0.68509215015205138} : sym 2 [16]
  %phi = concat %c0, %c1, %c2
    : [1], [16], sym 2 [16]
  yield %phi : [1] + [16] + sym 2 [16]
}

polyattn.feature_map @exp_4_16(%x: [16], %freqs: 8) {
  %r = rope %x, %freqs {layout = #polyattn.rope_layout<interleaved>, dims = 16, offset = 0.0,
      scale = 1.0} : [16], 8
  %h = scale %r {factor = 0.5} : [16]
  %c0 = constant {value = 0.99981393065800361, width = 1}
  %c1 = scale %h {factor = 0.99896883274586223} : [16]
  %h2 = power %h {degree = 2, symmetric} : [16]
  %c2 = scale %h2 {factor = 0.7091534742413127} : sym 2 [16]
  %h3 = power %h {degree = 3, symmetric} : [16]
  %c3 = scale %h3 {factor = 0.4201026459666049} : sym 3 [16]
  %h4 = power %h {degree = 4, symmetric} : [16]
  %c4 = scale %h4 {factor = 0.19990726681145576} : sym 4 [16]
  %phi = concat %c0, %c1, %c2, %c3, %c4
    : [1], [16], sym 2 [16], sym 3 [16], sym 4 [16]
  yield %phi : [1] + [16] + sym 2 [16] + sym 3 [16] + sym 4 [16]
}

polyattn.attention @fast_rope_p4_d8(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x64xf32>,
    %freqs: tensor<4xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @exp_4_8(%q, %freqs)
    : tensor<?x?x?x8xf32>, tensor<4xf32> -> [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8]
  %phi_k = apply @exp_4_8(%k, %freqs)
    : tensor<?x?x?x8xf32>, tensor<4xf32> -> [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>}
    : [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8],
      [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8], [64]
  return %o : [64]
}

polyattn.attention @fast_rope_p2_d8(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x64xf32>,
    %freqs: tensor<4xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @exp_2_8(%q, %freqs)
    : tensor<?x?x?x8xf32>, tensor<4xf32> -> [1] + [8] + sym 2 [8]
  %phi_k = apply @exp_2_8(%k, %freqs)
    : tensor<?x?x?x8xf32>, tensor<4xf32> -> [1] + [8] + sym 2 [8]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>}
    : [1] + [8] + sym 2 [8],
      [1] + [8] + sym 2 [8], [64]
  return %o : [64]
}

polyattn.attention @fast_rope_p2_d16(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x64xf32>,
    %freqs: tensor<8xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @exp_2_16(%q, %freqs)
    : tensor<?x?x?x16xf32>, tensor<8xf32> -> [1] + [16] + sym 2 [16]
  %phi_k = apply @exp_2_16(%k, %freqs)
    : tensor<?x?x?x16xf32>, tensor<8xf32> -> [1] + [16] + sym 2 [16]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>}
    : [1] + [16] + sym 2 [16],
      [1] + [16] + sym 2 [16], [64]
  return %o : [64]
}

polyattn.attention @fast_rope_p4_d16(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x64xf32>,
    %freqs: tensor<8xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @exp_4_16(%q, %freqs)
    : tensor<?x?x?x16xf32>, tensor<8xf32> -> [1] + [16] + sym 2 [16] + sym 3 [16] + sym 4 [16]
  %phi_k = apply @exp_4_16(%k, %freqs)
    : tensor<?x?x?x16xf32>, tensor<8xf32> -> [1] + [16] + sym 2 [16] + sym 3 [16] + sym 4 [16]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>}
    : [1] + [16] + sym 2 [16] + sym 3 [16] + sym 4 [16],
      [1] + [16] + sym 2 [16] + sym 3 [16] + sym 4 [16], [64]
  return %o : [64]
}

// Every query sees every key.
polyattn.attention @fast_rope_full(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x64xf32>,
    %freqs: tensor<4xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @exp_4_8(%q, %freqs)
    : tensor<?x?x?x8xf32>, tensor<4xf32> -> [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8]
  %phi_k = apply @exp_4_8(%k, %freqs)
    : tensor<?x?x?x8xf32>, tensor<4xf32> -> [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      full normalize <sum, eps = 0.0>
      {grouping = #polyattn.grouping<block>}
    : [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8],
      [1] + [8] + sym 2 [8] + sym 3 [8] + sym 4 [8], [64]
  return %o : [64]
}
