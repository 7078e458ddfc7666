// Factorized polynomial attention: the score is a product of n inner products in projections of
// their own, phi(x) = (x)_l W_l x, D the product of the widths d_l; exact, with any D between d and
// d^n. Queries and keys share the W_l, which every head has for itself. The paper has no normalizer
// and no scale (a scale would apply once, to the product). d = dv = 64.

// Two branches, 16 x 24: D = 384.
polyattn.attention @fpa_n2<d = 64, dv = 64, d1 = 16, d2 = 24>(
    q, k: seq[d], v: seq[dv], w1: head_weight[d, d1], w2: head_weight[d, d2]) {
  map phi(x) = tensor(project(x, w1), project(x, w2))
  return attend(phi(q), phi(k), v) causal normalize none
}

// Three branches, 4 x 8 x 12: D = 384, and the score keeps its sign.
polyattn.attention @fpa_n3<d = 64, dv = 64, d1 = 4, d2 = 8, d3 = 12>(
    q, k: seq[d], v: seq[dv], w1: head_weight[d, d1], w2: head_weight[d, d2], w3: head_weight[d,
        d3]) {
  map phi(x) = tensor(project(x, w1), project(x, w2), project(x, w3))
  return attend(phi(q), phi(k), v) causal normalize none
}

// Weights shared by all heads.
polyattn.attention @fpa_shared<d = 64, dv = 64, d1 = 16, d2 = 24>(
    q, k: seq[d], v: seq[dv], w1: weight[d, d1], w2: weight[d, d2]) {
  map phi(x) = tensor(project(x, w1), project(x, w2))
  return attend(phi(q), phi(k), v) causal normalize none
}

// Heads of different widths, at most 16 x 24. A head may be narrower than others: its columns
// beyond d_l
// are switched off by a row of ones and zeros, so that one call serves all heads.
polyattn.attention @fpa_head_widths<d = 64, dv = 64, d1 = 16, d2 = 24>(
    q, k: seq[d], v: seq[dv], w1: head_weight[d, d1], columns1: head_weight[d1], w2: head_weight[d,
        d2],
    columns2: head_weight[d2]) {
  map phi(x) = tensor(project(x, w1) * columns1, project(x, w2) * columns2)
  return attend(phi(q), phi(k), v) causal normalize none
}

// Other widths for other heads without padding are a second entry, called on its range of heads.
polyattn.attention @fpa_even<d = 64, dv = 64, d1 = 20, d2 = 20>(
    q, k: seq[d], v: seq[dv], w1: head_weight[d, d1], w2: head_weight[d, d2]) {
  map phi(x) = tensor(project(x, w1), project(x, w2))
  return attend(phi(q), phi(k), v) causal normalize none
}

// Table 1, coordinate select (and orthogonal blocks, as the coordinates are disjoint): no weights.
polyattn.attention @fpa_coordinates<d = 64, dv = 64, d1 = 16, d2 = 24>(q, k: seq[d], v: seq[dv]) {
  map phi(x) = tensor(x[:d1], x[d1:d1 + d2])
  return attend(phi(q), phi(k), v) causal normalize none
}

// Table 1, diagonal factors: monomials never mix coordinates inside a factor.
polyattn.attention @fpa_diagonal<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], g1, g2: head_weight[d]) {
  map phi(x) = tensor(x * g1, x * g2)
  return attend(phi(q), phi(k), v) causal normalize none
}

// Table 1, rank-1 factors: n learned directions, one feature.
polyattn.attention @fpa_rank1<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], a1, a2, a3: head_weight[d, 1]) {
  map phi(x) = hadamard(project(x, a1), project(x, a2), project(x, a3))
  return attend(phi(q), phi(k), v) causal normalize none
}
