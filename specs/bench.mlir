// The entries that `make bench` and the comparisons with peers measure: six systems at the sizes
// in which they are used, causal, with weights shared by all heads; f32, and bf16 as `..._bf16`.

// Katharopoulos et al. 2020: elu(x) + 1.
polyattn.feature_map @elu(%x: [64]) {
  %phi = elu_plus_one %x : [64]
  yield %phi : [64]
}

// LLoPS, Definition 3.3 with p = 2: the element-wise product of two projections.
polyattn.feature_map @llops_64(%x: [64], %theta1: 64x1024, %theta2: 64x1024) {
  %a = project %x, %theta1 : [64], 64x1024
  %b = project %x, %theta2 : [64], 64x1024
  %phi = hadamard %a, %b : [1024], [1024]
  yield %phi : [1024]
}
polyattn.feature_map @llops_128(%x: [128], %theta1: 128x256, %theta2: 128x256) {
  %a = project %x, %theta1 : [128], 128x256
  %b = project %x, %theta2 : [128], 128x256
  %phi = hadamard %a, %b : [256], [256]
  yield %phi : [256]
}

// PolySketchFormer, section 2.1: the layer normalization that precedes the kernel.
polyattn.feature_map @normalized(%x: [64], %gamma: 64, %beta: 64) {
  %y = layer_norm %x, %gamma, %beta {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>}
    : [64], 64, 64
  yield %y : [64]
}
// Algorithm 1 with p = 4, r = 32: psi_2(x) = sqrt(1/32) (x G1) * (x G2), then its tensor square.
polyattn.feature_map @sketch(%x: [64], %g1: 64x32, %g2: 64x32) {
  %a = project %x, %g1 : [64], 64x32
  %b = project %x, %g2 : [64], 64x32
  %ab = hadamard %a, %b : [32], [32]
  %psi = scale %ab {factor = 0.17677669529663687} : [32]
  %phi = power %psi {degree = 2} : [32]
  yield %phi : pow 2 [32]
}
// The exact kernel <x, y>^4 of the local blocks (section 3.2). Its features are never formed.
polyattn.feature_map @exact(%x: [64]) {
  %phi = power %x {degree = 4, symmetric} : [64]
  yield %phi : sym 4 [64]
}

// Power attention, p = 2 on the sorted monomials: <x, y>^2 / d with x scaled by d^(-1/4).
polyattn.feature_map @power(%x: [64]) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %phi = power %h {degree = 2, symmetric} : [64]
  yield %phi : sym 2 [64]
}

// BASED: 1 + s + s^2 / 2 for s = <x W, y W'> / sqrt(16).
polyattn.feature_map @based(%x: [64], %w: 64x16) {
  %p = project %x, %w : [64], 64x16
  %h = scale %p {factor = 0.5} : [16]
  %one = constant {value = 1.0, width = 1}
  %hh = power %h {degree = 2, symmetric} : [16]
  %half = scale %hh {factor = 0.70710678118654757} : sym 2 [16]
  %phi = concat %one, %h, %half : [1], [16], sym 2 [16]
  yield %phi : [1] + [16] + sym 2 [16]
}

polyattn.attention @llops_d64_m1024(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %theta_q1: tensor<64x1024xf32>, %theta_q2: tensor<64x1024xf32>,
    %theta_k1: tensor<64x1024xf32>, %theta_k2: tensor<64x1024xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @llops_64(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x64xf32>, tensor<64x1024xf32>, tensor<64x1024xf32> -> [1024]
  %phi_k = apply @llops_64(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x64xf32>, tensor<64x1024xf32>, tensor<64x1024xf32> -> [1024]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [1024], [1024], [64]
  return %o : [64]
}

polyattn.attention @llops_d128_m256(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q1: tensor<128x256xf32>, %theta_q2: tensor<128x256xf32>,
    %theta_k1: tensor<128x256xf32>, %theta_k2: tensor<128x256xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops_128(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %phi_k = apply @llops_128(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// The paper's block of 1024 positions, inside of which scores are exact.
polyattn.attention @polysketch_d64_r32_b1024(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %g1: tensor<64x32xf32>, %g2: tensor<64x32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @sketch(%q_n, %g1, %g2) : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %phi_k = apply @sketch(%k_n, %g1, %g2) : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %exact_q = apply @exact(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 1024, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}

// The same with local blocks of 64.
polyattn.attention @polysketch_d64_r32(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %g1: tensor<64x32xf32>, %g2: tensor<64x32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @sketch(%q_n, %g1, %g2) : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %phi_k = apply @sketch(%k_n, %g1, %g2) : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %exact_q = apply @exact(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 64, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}

polyattn.attention @power_d64_p2(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @power(%q) : tensor<?x?x?x64xf32> -> sym 2 [64]
  %phi_k = apply @power(%k) : tensor<?x?x?x64xf32> -> sym 2 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [64], sym 2 [64], [64]
  return %o : [64]
}

polyattn.attention @based_d64(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w_q: tensor<64x16xf32>, %w_k: tensor<64x16xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @based(%q, %w_q)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32> -> [1] + [16] + sym 2 [16]
  %phi_k = apply @based(%k, %w_k)
    : tensor<?x?x?x64xf32>, tensor<64x16xf32> -> [1] + [16] + sym 2 [16]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-12>
      {grouping = #polyattn.grouping<block>}
    : [1] + [16] + sym 2 [16], [1] + [16] + sym 2 [16], [64]
  return %o : [64]
}

polyattn.attention @linear_d64(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

polyattn.attention @llops_d64_m1024_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
    %theta_q1: tensor<64x1024xbf16>, %theta_q2: tensor<64x1024xbf16>,
    %theta_k1: tensor<64x1024xbf16>, %theta_k2: tensor<64x1024xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %phi_q = apply @llops_64(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x64xbf16>, tensor<64x1024xbf16>, tensor<64x1024xbf16> -> [1024]
  %phi_k = apply @llops_64(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x64xbf16>, tensor<64x1024xbf16>, tensor<64x1024xbf16> -> [1024]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [1024], [1024], [64]
  return %o : [64]
}

polyattn.attention @llops_d128_m256_bf16(
    %q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
    %theta_q1: tensor<128x256xbf16>, %theta_q2: tensor<128x256xbf16>,
    %theta_k1: tensor<128x256xbf16>, %theta_k2: tensor<128x256xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %phi_q = apply @llops_128(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xbf16>, tensor<128x256xbf16>, tensor<128x256xbf16> -> [256]
  %phi_k = apply @llops_128(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xbf16>, tensor<128x256xbf16>, tensor<128x256xbf16> -> [256]
  %values = read %v : tensor<?x?x?x128xbf16> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

polyattn.attention @polysketch_d64_r32_b1024_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
    %gamma: tensor<64xbf16>, %beta: tensor<64xbf16>, %g1: tensor<64x32xbf16>,
    %g2: tensor<64x32xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xbf16>, tensor<64xbf16>, tensor<64xbf16> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xbf16>, tensor<64xbf16>, tensor<64xbf16> -> [64]
  %phi_q = apply @sketch(%q_n, %g1, %g2)
    : [64], tensor<64x32xbf16>, tensor<64x32xbf16> -> pow 2 [32]
  %phi_k = apply @sketch(%k_n, %g1, %g2)
    : [64], tensor<64x32xbf16>, tensor<64x32xbf16> -> pow 2 [32]
  %exact_q = apply @exact(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 1024, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}

polyattn.attention @polysketch_d64_r32_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
    %gamma: tensor<64xbf16>, %beta: tensor<64xbf16>, %g1: tensor<64x32xbf16>,
    %g2: tensor<64x32xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xbf16>, tensor<64xbf16>, tensor<64xbf16> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xbf16>, tensor<64xbf16>, tensor<64xbf16> -> [64]
  %phi_q = apply @sketch(%q_n, %g1, %g2)
    : [64], tensor<64x32xbf16>, tensor<64x32xbf16> -> pow 2 [32]
  %phi_k = apply @sketch(%k_n, %g1, %g2)
    : [64], tensor<64x32xbf16>, tensor<64x32xbf16> -> pow 2 [32]
  %exact_q = apply @exact(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 64, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}

polyattn.attention @power_d64_p2_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %phi_q = apply @power(%q) : tensor<?x?x?x64xbf16> -> sym 2 [64]
  %phi_k = apply @power(%k) : tensor<?x?x?x64xbf16> -> sym 2 [64]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [64], sym 2 [64], [64]
  return %o : [64]
}

polyattn.attention @based_d64_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
    %w_q: tensor<64x16xbf16>, %w_k: tensor<64x16xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %phi_q = apply @based(%q, %w_q)
    : tensor<?x?x?x64xbf16>, tensor<64x16xbf16> -> [1] + [16] + sym 2 [16]
  %phi_k = apply @based(%k, %w_k)
    : tensor<?x?x?x64xbf16>, tensor<64x16xbf16> -> [1] + [16] + sym 2 [16]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-12>
      {grouping = #polyattn.grouping<block>}
    : [1] + [16] + sym 2 [16], [1] + [16] + sym 2 [16], [64]
  return %o : [64]
}

polyattn.attention @linear_d64_bf16(
    %q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xbf16> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xbf16> -> [64]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}
