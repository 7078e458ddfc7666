// Scores that depend on the distance of two positions: `relative` is a number c(i - j) of a table.
// `tensor` multiplies it, `concat` adds it, powers raise it. Such scores have no features. Pairs beyond
// a table are zero (`beyond = zero`), or have its last number as a factor, and so features.
//
// Kernelized attention with relative positions (Luo et al. 2021, "Stable, Fast and Accurate:
// Kernelized Attention with Relative Positional Encoding"): each pair of positive random
// features is multiplied by exp(b(i - j)), and queries and keys have unit length, which bounds the
// variance. The table holds b, of each head. Distances beyond the table have its last number, as the
// buckets of T5 do (Raffel et al. 2020). d = dv = 64, m = 256, 128 distances.

polyattn.attention @relative<d = 64, dv = 64, m = 256, distances = 128>(
    q, k: seq[d], v: seq[dv], w: weight[d, m], b: head_weight[distances]) {
  map favor(x) {
    h = l2_norm(x, eps = 1e-6)
    return exp(project(h, w) + squared_norm(h) * -0.5) / sqrt(m)
  }
  c = relative(b, beyond = last, log = true)
  return attend(tensor(c, favor(q)), tensor(c, favor(k)), v) causal normalize sum(1e-6)
}

// The same for all pairs, as in an encoder: a number for each lag from -127 to 127.
polyattn.attention @relative_full<d = 64, dv = 64, m = 256, lags = 255>(
    q, k: seq[d], v: seq[dv], w: weight[d, m], b: head_weight[lags]) {
  map favor(x) {
    h = l2_norm(x, eps = 1e-6)
    return exp(project(h, w) + squared_norm(h) * -0.5) / sqrt(m)
  }
  c = relative(b, beyond = last, log = true, two_sided = true)
  return attend(tensor(c, favor(q)), tensor(c, favor(k)), v) full normalize sum(1e-6)
}

// One table for all heads and both directions, by the distance |i - j|, with squares of scores.
polyattn.attention @relative_distance<d = 32, dv = 64, distances = 64>(
    q, k: seq[d], v: seq[dv], b: weight[distances]) {
  c = relative(b, beyond = last, log = true)
  return attend(tensor(c, sym(q, 2)), tensor(c, sym(k, 2)), v) full normalize sum(1e-6)
}

// A sliding window of any feature map: distances beyond the table count as 0. The table holds the
// weights of the window, such as ones; negative ones would make the denominator vanish.
polyattn.attention @relative_window<d = 64, dv = 64, window = 256>(
    q, k: seq[d], v: seq[dv], c: head_weight[window]) {
  near = relative(c, beyond = zero)
  return attend(tensor(near, elu_plus_one(q)), tensor(near, elu_plus_one(k)), v) causal
      normalize sum(1e-6) signed_scores
}

// "Fast RoPE Attention" (Alman and Song 2025), Definition 1.1: the score is P(q_i^T W(i - j) k_j),
// where the matrix W(i - j) has numbers of the lag at a few places S, here four: (0, 0), (0, 1),
// (1, 0) and (2, 3). P is the polynomial of degree 2 for exp of `fast-rope.mlir`, which is positive
// everywhere.
polyattn.attention @relative_rope<d = 8, dv = 64, distances = 512>(
    q, k: seq[d], v: seq[dv], w00, w01, w10, w23: head_weight[distances]) {
  a = relative(w00, beyond = zero)
  b = relative(w01, beyond = zero)
  c = relative(w10, beyond = zero)
  e = relative(w23, beyond = zero)
  x = concat(tensor(a, q[0]), tensor(b, q[0]), tensor(c, q[1]), tensor(e, q[2]))
  y = concat(tensor(a, k[0]), tensor(b, k[1]), tensor(c, k[0]), tensor(e, k[3]))
  map exp_2(s) {
    return concat(1.0134232833691079, s * 1.0554046585996855, sym(s, 2) * 0.68509215015205138)
  }
  return attend(exp_2(x), exp_2(y), v) causal normalize sum(0)
}

// A Toeplitz operator on values, without queries and keys: the token mixing of Toeplitz neural
// networks (Qin et al. 2023), of one table for each head.
polyattn.attention @toeplitz<dv = 64, distances = 512>(v: seq[dv], c: head_weight[distances]) {
  t = relative(c, beyond = zero)
  return attend(t, t, v) causal normalize none
}

// Scores times a sum of exponentials of the distance, here of four: 0.4 g1^(i - j) + 0.3 g2^(i - j) + ...
// Each term is a state with a decay of its own, so that time is linear in the length, and sequences
// are continued. Values bring a 1, whose sum is the denominator.
polyattn.attention @exponentials<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], g1, g2, g3, g4: head_decay) {
  map phi(x) = elu_plus_one(x)
  rows = concat(v, 1)
  a = attend(phi(q), phi(k), rows) causal normalize none decay g1 gate_heads q
  b = attend(phi(q), phi(k), rows) causal normalize none decay g2 gate_heads q
  c = attend(phi(q), phi(k), rows) causal normalize none decay g3 gate_heads q
  e = attend(phi(q), phi(k), rows) causal normalize none decay g4 gate_heads q
  s = a * 0.4 + b * 0.3 + c * 0.2 + e * 0.1
  return s[:dv] * (s[dv] + 1e-6) ** -1
}
