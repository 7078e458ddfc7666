// PolySketchFormer with random sketches. Kacham et al. 2024, Algorithm 1: the score <q, k>^p
// for even p is replaced by <psi(q), psi(k)>^2, psi a tree of random projections,
//
//   psi_1(x) = x,   psi_p(x) = sqrt(1/r) (psi_{p/2}(x) G1) * (psi'_{p/2}(x) G2),
//
// with fresh Gaussians at every node (arguments, shared by all heads) and phi = psi_{p/2} (x)
// psi_{p/2}, D = r^2. Sizes of the paper: d = dv = 64, r = 32; blocks of 1024 positions.
// Queries and keys are layer-normalized first (section 2.1), the denominator is 1 + Z.

polyattn.feature_map @normalized(%x: [64], %gamma: 64, %beta: 64) {
  %y = layer_norm %x, %gamma, %beta {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>}
    : [64], 64, 64
  yield %y : [64]
}

polyattn.feature_map @sketch_p4(%x: [64], %g1: 64x32, %g2: 64x32) {
  %a = project %x, %g1 : [64], 64x32
  %b = project %x, %g2 : [64], 64x32
  %ab = hadamard %a, %b : [32], [32]
  %psi = scale %ab {factor = 0.17677669529663687} : [32]
  %phi = power %psi {degree = 2} : [32]
  yield %phi : pow 2 [32]
}

// Two nodes of degree 2 below one of degree 4.
polyattn.feature_map @sketch_p8(%x: [64], %g11: 64x32, %g12: 64x32, %g21: 64x32, %g22: 64x32,
                                %g1: 32x32, %g2: 32x32) {
  %a11 = project %x, %g11 : [64], 64x32
  %a12 = project %x, %g12 : [64], 64x32
  %m1_raw = hadamard %a11, %a12 : [32], [32]
  %m1 = scale %m1_raw {factor = 0.17677669529663687} : [32]
  %a21 = project %x, %g21 : [64], 64x32
  %a22 = project %x, %g22 : [64], 64x32
  %m2_raw = hadamard %a21, %a22 : [32], [32]
  %m2 = scale %m2_raw {factor = 0.17677669529663687} : [32]
  %a = project %m1, %g1 : [32], 32x32
  %b = project %m2, %g2 : [32], 32x32
  %ab = hadamard %a, %b : [32], [32]
  %psi = scale %ab {factor = 0.17677669529663687} : [32]
  %phi = power %psi {degree = 2} : [32]
  yield %phi : pow 2 [32]
}

// The exact kernels of the local blocks (section 3.2), used as scores only.
polyattn.feature_map @exact_p4(%x: [64]) {
  %phi = power %x {degree = 4, symmetric} : [64]
  yield %phi : sym 4 [64]
}
polyattn.feature_map @exact_p8(%x: [64]) {
  %phi = power %x {degree = 8, symmetric} : [64]
  yield %phi : sym 8 [64]
}

polyattn.attention @polysketch_p4(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %g1: tensor<64x32xf32>, %g2: tensor<64x32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @sketch_p4(%q_n, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %phi_k = apply @sketch_p4(%k_n, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64]
  return %o : [64]
}

// Local exact: inside a block of 1024 positions the scores are <q, k>^4 themselves.
polyattn.attention @polysketch_p4_local(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %g1: tensor<64x32xf32>, %g2: tensor<64x32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @sketch_p4(%q_n, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %phi_k = apply @sketch_p4(%k_n, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %exact_q = apply @exact_p4(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact_p4(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 1024, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}

// The same with blocks of 64.
polyattn.attention @polysketch_p4_local_b64(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>, %g1: tensor<64x32xf32>, %g2: tensor<64x32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @sketch_p4(%q_n, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %phi_k = apply @sketch_p4(%k_n, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32> -> pow 2 [32]
  %exact_q = apply @exact_p4(%q_n) : [64] -> sym 4 [64]
  %exact_k = apply @exact_p4(%k_n) : [64] -> sym 4 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 64, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 4 [64], sym 4 [64]
  return %o : [64]
}

// Degree 8.
polyattn.attention @polysketch_p8(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>,
    %g11: tensor<64x32xf32>, %g12: tensor<64x32xf32>, %g21: tensor<64x32xf32>,
    %g22: tensor<64x32xf32>, %g1: tensor<32x32xf32>, %g2: tensor<32x32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @sketch_p8(%q_n, %g11, %g12, %g21, %g22, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>,
      tensor<32x32xf32>, tensor<32x32xf32> -> pow 2 [32]
  %phi_k = apply @sketch_p8(%k_n, %g11, %g12, %g21, %g22, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>,
      tensor<32x32xf32>, tensor<32x32xf32> -> pow 2 [32]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64]
  return %o : [64]
}

// Degree 8, local exact in blocks of 64.
polyattn.attention @polysketch_p8_local_b64(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %gamma: tensor<64xf32>, %beta: tensor<64xf32>,
    %g11: tensor<64x32xf32>, %g12: tensor<64x32xf32>, %g21: tensor<64x32xf32>,
    %g22: tensor<64x32xf32>, %g1: tensor<32x32xf32>, %g2: tensor<32x32xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %q_n = apply @normalized(%q, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %k_n = apply @normalized(%k, %gamma, %beta)
    : tensor<?x?x?x64xf32>, tensor<64xf32>, tensor<64xf32> -> [64]
  %phi_q = apply @sketch_p8(%q_n, %g11, %g12, %g21, %g22, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>,
      tensor<32x32xf32>, tensor<32x32xf32> -> pow 2 [32]
  %phi_k = apply @sketch_p8(%k_n, %g11, %g12, %g21, %g22, %g1, %g2)
    : [64], tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>,
      tensor<32x32xf32>, tensor<32x32xf32> -> pow 2 [32]
  %exact_q = apply @exact_p8(%q_n) : [64] -> sym 8 [64]
  %exact_k = apply @exact_p8(%k_n) : [64] -> sym 8 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values local %exact_q, %exact_k
      causal normalize <bias, bias = 1.0>
      {block = 64, grouping = #polyattn.grouping<block>}
    : pow 2 [32], pow 2 [32], [64], sym 8 [64], sym 8 [64]
  return %o : [64]
}
