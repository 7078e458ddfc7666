// PolySketchFormer with random sketches. Kacham et al. 2024, Algorithm 1: the score <q, k>^p
// for even p is replaced by <psi(q), psi(k)>^2, psi a tree of random projections,
//
//   psi_1(x) = x,   psi_p(x) = sqrt(1/r) (psi_{p/2}(x) G1) * (psi'_{p/2}(x) G2),
//
// with fresh Gaussians at every node (arguments, shared by all heads) and phi = psi_{p/2} (x)
// psi_{p/2}, D = r^2. Sizes of the paper: d = dv = 64, r = 32; blocks of 1024 positions.
// Queries and keys are layer-normalized first (section 2.1), the denominator is 1 + Z.

polyattn.attention @polysketch_p4<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g1, g2: weight[d, r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  map sketch(x) = power(project(x, g1) * project(x, g2) / sqrt(r), 2)
  return attend(sketch(normal(q)), sketch(normal(k)), v) causal normalize bias(1)
}

// Local exact: inside a block of 1024 positions the scores are <q, k>^4 themselves (section 3.2).
polyattn.attention @polysketch_p4_local<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g1, g2: weight[d, r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  map sketch(x) = power(project(x, g1) * project(x, g2) / sqrt(r), 2)
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1) local(sym(x, 4), sym(y, 4))
      block 1024
}

// The same with blocks of 64.
polyattn.attention @polysketch_p4_local_b64<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g1, g2: weight[d, r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  map sketch(x) = power(project(x, g1) * project(x, g2) / sqrt(r), 2)
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1) local(sym(x, 4), sym(y, 4))
      block 64
}

// Degree 8: two nodes of degree 2 below one of degree 4.
polyattn.attention @polysketch_p8<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g11, g12, g21, g22: weight[d, r], g1,
        g2: weight[r, r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  map node(x, y, a, b) = project(x, a) * project(y, b) / sqrt(r)
  map sketch(x) = power(node(node(x, x, g11, g12), node(x, x, g21, g22), g1, g2), 2)
  return attend(sketch(normal(q)), sketch(normal(k)), v) causal normalize bias(1)
}

// Degree 8, local exact in blocks of 64.
polyattn.attention @polysketch_p8_local_b64<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g11, g12, g21, g22: weight[d, r], g1,
        g2: weight[r, r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  map node(x, y, a, b) = project(x, a) * project(y, b) / sqrt(r)
  map sketch(x) = power(node(node(x, x, g11, g12), node(x, x, g21, g22), g1, g2), 2)
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1) local(sym(x, 8), sym(y, 8))
      block 64
}
