// Where implementations of one name differ, and how a spec says which is meant (docs/Semantics.md
// lists all of them). Compositions that no other file of the library shows.

// DPFP (Schlag et al. 2021), nu = 1: [relu(x), relu(-x)] times itself rolled by one place.
polyattn.feature_map @dpfp(%x: [64]) {
  %minus = scale %x {factor = -1.0} : [64]
  %p = relu %x : [64]
  %n = relu %minus : [64]
  %f = concat %p, %n : [64], [64]
  %rolled = select %f {indices = array<i64: 127, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                           15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                                           28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
                                           41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53,
                                           54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66,
                                           67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79,
                                           80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92,
                                           93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104,
                                           105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115,
                                           116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126>}
    : [64] + [64]
  %phi = hadamard %f, %rolled : [64] + [64], [128]
  yield %phi : [128]
}

polyattn.attention @dpfp_attention(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @dpfp(%q) : tensor<?x?x?x64xf32> -> [128]
  %phi_k = apply @dpfp(%k) : tensor<?x?x?x64xf32> -> [128]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [128], [128], [64]
  return %o : [64]
}

// A learned gain and bias, then the upper triangle of x (x) x with unweighted products, which is no
// power of an inner product and keeps its features. ReBased (Aksenov et al. 2024) has the root of 2
// off the diagonal: there `triu {weights = sqrt2}` is the score's square, `power {symmetric}`.
polyattn.feature_map @triangle(%x: [16], %gamma: 16, %beta: 16) {
  %y = layer_norm %x, %gamma, %beta {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>}
    : [16], 16, 16
  %phi = triu %y, %y {weights = #polyattn.triu_weights<none>} : [16], [16]
  yield %phi : [136]
}

polyattn.attention @triangle_attention(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<16xf32>, %beta: tensor<16xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @triangle(%q, %gamma, %beta)
    : tensor<?x?x?x16xf32>, tensor<16xf32>, tensor<16xf32> -> [136]
  %phi_k = apply @triangle(%k, %gamma, %beta)
    : tensor<?x?x?x16xf32>, tensor<16xf32>, tensor<16xf32> -> [136]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [136], [136], [64]
  return %o : [64]
}

// Features divided by their sum, and a floor under every feature.
polyattn.feature_map @summed(%x: [64]) {
  %e = elu_plus_one %x : [64]
  %floored = clamp_min %e {value = 1.0e-6} : [64]
  %phi = sum_norm %floored {eps = 1.0e-4} : [64]
  yield %phi : [64]
}

// A bias of the denominator other than 1, and a scale of the scores.
polyattn.attention @summed_attention(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @summed(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @summed(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 0.5>
      {score_scale = 0.125, grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

// xPos: rotated, and scaled by a table of one vector per position. Queries grow as keys shrink, so
// that the table is given for each side.
polyattn.feature_map @xpos(%x: [64], %size: [64], %freqs: 32) {
  %y = rope %x, %freqs {layout = #polyattn.rope_layout<half>, dims = 64, offset = 0.0, scale = 1.0}
    : [64], 32
  %phi = hadamard %y, %size : [64], [64]
  yield %phi : [64]
}

polyattn.attention @xpos_attention(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %freqs: tensor<32xf32>, %size_q: tensor<?x1x64xf32>, %size_k: tensor<?x1x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_size = read %size_q : tensor<?x1x64xf32> -> [64]
  %k_size = read %size_k : tensor<?x1x64xf32> -> [64]
  %phi_q = apply @xpos(%q, %q_size, %freqs) : tensor<?x?x?x64xf32>, [64], tensor<32xf32> -> [64]
  %phi_k = apply @xpos(%k, %k_size, %freqs) : tensor<?x?x?x64xf32>, [64], tensor<32xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

// Lightning attention with silu and normalized queries and keys: a root-mean-square norm with a
// gain is written out. Partial rotary: the first half of the channels.
polyattn.feature_map @lightning(%x: [64], %gain: 64, %freqs: 16) {
  %sum = squared_norm %x : [64]
  %mean = scale %sum {factor = 0.015625} : [1]
  %safe = add_const %mean {value = 1.0e-6} : [1]
  %inverse = pow %safe {exponent = -0.5} : [1]
  %unit = hadamard %x, %inverse : [64], [1]
  %gained = mul_vec %unit, %gain : [64], 64
  %active = silu %gained : [64]
  %phi = rope %active, %freqs
    {layout = #polyattn.rope_layout<half>, dims = 32, offset = 0.0, scale = 1.0} : [64], 16
  yield %phi : [64]
}

polyattn.attention @lightning_attention(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gain: tensor<64xf32>, %freqs: tensor<16xf32>, %log_decay: tensor<?xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @lightning(%q, %gain, %freqs)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<16xf32> -> [64]
  %phi_k = apply @lightning(%k, %gain, %freqs)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<16xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values decay %log_decay
      causal normalize <none>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [64], [64], [64], tensor<?xf32>
  return %o : [64]
}

// eps added to every sum of keys, o = phi_q^T S / (phi_q^T (z + eps)), as linear attentions of vision
// models have it: phi_q^T z is an attention over the constant 1, and eps adds eps times the sum of the
// query's features, a projection by ones.
polyattn.feature_map @ones() {
  %one = constant {value = 1.0, width = 1}
  yield %one : [1]
}

polyattn.feature_map @exponential(%x: [16]) {
  %phi = exp %x : [16]
  yield %phi : [16]
}

polyattn.attention @eps_on_sums(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x64xf32>,
    %sum: tensor<16x1xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @exponential(%q) : tensor<?x?x?x16xf32> -> [16]
  %phi_k = apply @exponential(%k) : tensor<?x?x?x16xf32> -> [16]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %one = apply @ones() : -> [1]
  %ones = read %sum : tensor<16x1xf32> -> 16x1
  %n = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [16], [16], [64]
  %z = attend query %phi_q key %phi_k value %one
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [16], [16], [1]
  %total = project %phi_q, %ones : [16], 16x1
  %e = scale %total {factor = 1.0e-6} : [1]
  %d = add %z, %e : [1], [1]
  %inverse = pow %d {exponent = -1.0} : [1]
  %o = hadamard %n, %inverse : [64], [1]
  return %o : [64]
}
