// The entries that `make bench` and the comparisons with peers measure: six systems at the sizes
// in which they are used, causal, with weights shared by all heads. `--dtype bf16` gives the
// measurements that are called NAME_bf16.

// LLoPS, Definition 3.3 with p = 2: the element-wise product of two projections.
polyattn.attention @llops_d64_m1024<d = 64, dv = 64, m = 1024>(
    q, k: seq[d], v: seq[dv], theta_q1, theta_q2, theta_k1, theta_k2: weight[d, m]) {
  map phi(x, a, b) = project(x, a) * project(x, b)
  return attend(phi(q, theta_q1, theta_q2), phi(k, theta_k1, theta_k2), v) causal normalize none
}

polyattn.attention @llops_d128_m256<d = 128, dv = 128, m = 256>(
    q, k: seq[d], v: seq[dv], theta_q1, theta_q2, theta_k1, theta_k2: weight[d, m]) {
  map phi(x, a, b) = project(x, a) * project(x, b)
  return attend(phi(q, theta_q1, theta_q2), phi(k, theta_k1, theta_k2), v) causal normalize none
}

// PolySketchFormer, Algorithm 1 with p = 4, r = 32, after the layer normalization of section 2.1:
// psi_2(x) = sqrt(1/32) (x G1) * (x G2), then its tensor square. Inside the paper's blocks of 1024
// positions scores are exact, <x, y>^4 (section 3.2). Their features are never formed.
polyattn.attention @polysketch_d64_r32_b1024<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g1, g2: weight[d, r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  map sketch(x) = power(project(x, g1) * project(x, g2) / sqrt(r), 2)
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1) local(sym(x, 4), sym(y, 4))
      block 1024
}

// The same with local blocks of 64.
polyattn.attention @polysketch_d64_r32<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g1, g2: weight[d, r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  map sketch(x) = power(project(x, g1) * project(x, g2) / sqrt(r), 2)
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1) local(sym(x, 4), sym(y, 4))
      block 64
}

// Power attention, p = 2 on the sorted monomials: <x, y>^2 / d with x scaled by d^(-1/4).
polyattn.attention @power_d64_p2<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map phi(x) = sym(x * d ** -0.25, 2)
  return attend(phi(q), phi(k), v) causal normalize sum(1e-6)
}

// BASED: 1 + s + s^2 / 2 for s = <x W, y W'> / sqrt(16).
polyattn.attention @based_d64<d = 64, dv = 64, r = 16>(
    q, k: seq[d], v: seq[dv], w_q, w_k: weight[d, r]) {
  map phi(x, w) {
    h = project(x, w) / sqrt(sqrt(r))
    return concat(1, h, sym(h, 2) * sqrt(1 / 2))
  }
  return attend(phi(q, w_q), phi(k, w_k), v) causal normalize sum(1e-12)
}

// Katharopoulos et al. 2020: elu(x) + 1.
polyattn.attention @linear_d64<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
}
