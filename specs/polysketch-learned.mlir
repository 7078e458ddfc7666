// PolySketchFormer with learned sketches (Kacham et al. 2024, Algorithm 2 and appendix D): the tree
// of Algorithm 1 with its Gaussians replaced by small networks, shared by all heads, and a tanh
// that keeps every node within sqrt(r). p = 4, r = 32, d = dv = 64: one node of two networks below
// the tensor square. Biases and gains as in the authors' code (flax Dense and LayerNorm).

polyattn.feature_map @normalized(%x: [64], %gamma: 64, %beta: 64) {
  %y = layer_norm %x, %gamma, %beta {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>}
    : [64], 64, 64
  yield %y : [64]
}

// LN, dense 8r, gelu, dense r, LN, dense 8r, gelu, dense r.
polyattn.feature_map @net(%x: [64], %gamma1: 64, %beta1: 64, %w1: 64x256, %b1: 256, %w2: 256x32,
                          %b2: 32, %gamma2: 32, %beta2: 32, %w3: 32x256, %b3: 256, %w4: 256x32,
                          %b4: 32) {
  %n1 = layer_norm %x, %gamma1, %beta1 {eps = 1.0e-6, eps_place = #polyattn.eps_place<inside>}
    : [64], 64, 64
  %h1 = project %n1, %w1, %b1 : [64], 64x256, 256
  %a1 = gelu %h1 {form = #polyattn.gelu_form<tanh>} : [256]
  %h2 = project %a1, %w2, %b2 : [256], 256x32, 32
  %n2 = layer_norm %h2, %gamma2, %beta2 {eps = 1.0e-6, eps_place = #polyattn.eps_place<inside>}
    : [32], 32, 32
  %h3 = project %n2, %w3, %b3 : [32], 32x256, 256
  %a3 = gelu %h3 {form = #polyattn.gelu_form<tanh>} : [256]
  %y = project %a3, %w4, %b4 : [256], 256x32, 32
  yield %y : [32]
}

// sqrt(r) tanh(sqrt(1/r) f1 * f2), squared as a tensor.
polyattn.feature_map @node(%f1: [32], %f2: [32]) {
  %f = hadamard %f1, %f2 : [32], [32]
  %small = scale %f {factor = 0.17677669529663687} : [32]
  %bounded = tanh %small : [32]
  %psi = scale %bounded {factor = 5.6568542494923806} : [32]
  %phi = power %psi {degree = 2} : [32]
  yield %phi : pow 2 [32]
}

// The exact kernel of the local blocks (section 3.2).
polyattn.feature_map @exact(%x: [64]) {
  %phi = power %x {degree = 4, symmetric} : [64]
  yield %phi : sym 4 [64]
}

polyattn.attention @polysketch_learned(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %gamma1_1: tensor<64xf32>,
    %beta1_1: tensor<64xf32>, %w1_1: tensor<64x256xf32>, %b1_1: tensor<256xf32>,
    %w2_1: tensor<256x32xf32>, %b2_1: tensor<32xf32>, %gamma2_1: tensor<32xf32>,
    %beta2_1: tensor<32xf32>, %w3_1: tensor<32x256xf32>, %b3_1: tensor<256xf32>,
    %w4_1: tensor<256x32xf32>, %b4_1: tensor<32xf32>, %gamma1_2: tensor<64xf32>,
    %beta1_2: tensor<64xf32>, %w1_2: tensor<64x256xf32>, %b1_2: tensor<256xf32>,
    %w2_2: tensor<256x32xf32>, %b2_2: tensor<32xf32>, %gamma2_2: tensor<32xf32>,
    %beta2_2: tensor<32xf32>, %w3_2: tensor<32x256xf32>, %b3_2: tensor<256xf32>,
    %w4_2: tensor<256x32xf32>, %b4_2: tensor<32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %f1_q = apply @net(
      %q_n, %gamma1_1, %beta1_1, %w1_1, %b1_1, %w2_1, %b2_1, %gamma2_1, %beta2_1, %w3_1, %b3_1,
      %w4_1, %b4_1)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %f2_q = apply @net(
      %q_n, %gamma1_2, %beta1_2, %w1_2, %b1_2, %w2_2, %b2_2, %gamma2_2, %beta2_2, %w3_2, %b3_2,
      %w4_2, %b4_2)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %phi_q = apply @node(%f1_q, %f2_q) : [32], [32] -> pow 2 [32]
  %f1_k = apply @net(
      %k_n, %gamma1_1, %beta1_1, %w1_1, %b1_1, %w2_1, %b2_1, %gamma2_1, %beta2_1, %w3_1, %b3_1,
      %w4_1, %b4_1)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %f2_k = apply @net(
      %k_n, %gamma1_2, %beta1_2, %w1_2, %b1_2, %w2_2, %b2_2, %gamma2_2, %beta2_2, %w3_2, %b3_2,
      %w4_2, %b4_2)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %phi_k = apply @node(%f1_k, %f2_k) : [32], [32] -> pow 2 [32]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64]
  return %o : [64]
}

// Learned sketches, exact inside blocks of 1024: the paper's best model.
polyattn.attention @polysketch_learned_local(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %gamma1_1: tensor<64xf32>,
    %beta1_1: tensor<64xf32>, %w1_1: tensor<64x256xf32>, %b1_1: tensor<256xf32>,
    %w2_1: tensor<256x32xf32>, %b2_1: tensor<32xf32>, %gamma2_1: tensor<32xf32>,
    %beta2_1: tensor<32xf32>, %w3_1: tensor<32x256xf32>, %b3_1: tensor<256xf32>,
    %w4_1: tensor<256x32xf32>, %b4_1: tensor<32xf32>, %gamma1_2: tensor<64xf32>,
    %beta1_2: tensor<64xf32>, %w1_2: tensor<64x256xf32>, %b1_2: tensor<256xf32>,
    %w2_2: tensor<256x32xf32>, %b2_2: tensor<32xf32>, %gamma2_2: tensor<32xf32>,
    %beta2_2: tensor<32xf32>, %w3_2: tensor<32x256xf32>, %b3_2: tensor<256xf32>,
    %w4_2: tensor<256x32xf32>, %b4_2: tensor<32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %f1_q = apply @net(
      %q_n, %gamma1_1, %beta1_1, %w1_1, %b1_1, %w2_1, %b2_1, %gamma2_1, %beta2_1, %w3_1, %b3_1,
      %w4_1, %b4_1)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %f2_q = apply @net(
      %q_n, %gamma1_2, %beta1_2, %w1_2, %b1_2, %w2_2, %b2_2, %gamma2_2, %beta2_2, %w3_2, %b3_2,
      %w4_2, %b4_2)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %phi_q = apply @node(%f1_q, %f2_q) : [32], [32] -> pow 2 [32]
  %f1_k = apply @net(
      %k_n, %gamma1_1, %beta1_1, %w1_1, %b1_1, %w2_1, %b2_1, %gamma2_1, %beta2_1, %w3_1, %b3_1,
      %w4_1, %b4_1)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %f2_k = apply @net(
      %k_n, %gamma1_2, %beta1_2, %w1_2, %b1_2, %w2_2, %b2_2, %gamma2_2, %beta2_2, %w3_2, %b3_2,
      %w4_2, %b4_2)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %phi_k = apply @node(%f1_k, %f2_k) : [32], [32] -> pow 2 [32]
  %exact_q = apply @exact(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 1024, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}

// The same with blocks of 64.
polyattn.attention @polysketch_learned_local_b64(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %gamma1_1: tensor<64xf32>,
    %beta1_1: tensor<64xf32>, %w1_1: tensor<64x256xf32>, %b1_1: tensor<256xf32>,
    %w2_1: tensor<256x32xf32>, %b2_1: tensor<32xf32>, %gamma2_1: tensor<32xf32>,
    %beta2_1: tensor<32xf32>, %w3_1: tensor<32x256xf32>, %b3_1: tensor<256xf32>,
    %w4_1: tensor<256x32xf32>, %b4_1: tensor<32xf32>, %gamma1_2: tensor<64xf32>,
    %beta1_2: tensor<64xf32>, %w1_2: tensor<64x256xf32>, %b1_2: tensor<256xf32>,
    %w2_2: tensor<256x32xf32>, %b2_2: tensor<32xf32>, %gamma2_2: tensor<32xf32>,
    %beta2_2: tensor<32xf32>, %w3_2: tensor<32x256xf32>, %b3_2: tensor<256xf32>,
    %w4_2: tensor<256x32xf32>, %b4_2: tensor<32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %f1_q = apply @net(
      %q_n, %gamma1_1, %beta1_1, %w1_1, %b1_1, %w2_1, %b2_1, %gamma2_1, %beta2_1, %w3_1, %b3_1,
      %w4_1, %b4_1)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %f2_q = apply @net(
      %q_n, %gamma1_2, %beta1_2, %w1_2, %b1_2, %w2_2, %b2_2, %gamma2_2, %beta2_2, %w3_2, %b3_2,
      %w4_2, %b4_2)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %phi_q = apply @node(%f1_q, %f2_q) : [32], [32] -> pow 2 [32]
  %f1_k = apply @net(
      %k_n, %gamma1_1, %beta1_1, %w1_1, %b1_1, %w2_1, %b2_1, %gamma2_1, %beta2_1, %w3_1, %b3_1,
      %w4_1, %b4_1)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %f2_k = apply @net(
      %k_n, %gamma1_2, %beta1_2, %w1_2, %b1_2, %w2_2, %b2_2, %gamma2_2, %beta2_2, %w3_2, %b3_2,
      %w4_2, %b4_2)
    : [64], tensor<64xf32>, tensor<64xf32>, tensor<64x256xf32>, tensor<256xf32>,
      tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x256xf32>,
      tensor<256xf32>, tensor<256x32xf32>, tensor<32xf32> -> [32]
  %phi_k = apply @node(%f1_k, %f2_k) : [32], [32] -> pow 2 [32]
  %exact_q = apply @exact(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 64, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}
