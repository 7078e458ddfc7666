// BASED. Arora et al. 2024: queries and keys are projected to r = d' = 16 dimensions, the score is
// the second Taylor polynomial of the exponential, 1 + s + s^2 / 2 for s = <q', k'> / sqrt(d').
// It is positive everywhere, so that the sum of the scores normalizes. d = dv = 64.

// Features on the sorted monomials, D = 153. Projections of their own for every head, as in the
// models.
polyattn.attention @based<d = 64, dv = 64, r = 16>(
    q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, r]) {
  map taylor(x, w) {
    h = project(x, w) / sqrt(sqrt(r))
    return concat(1, h, sym(h, 2) * sqrt(1 / 2))
  }
  return attend(taylor(q, w_q), taylor(k, w_k), v) causal normalize sum(1e-12)
}

// One projection for all heads, features as the paper writes them: all products, D = 273, with the
// same scores.
polyattn.attention @based_tensor<d = 64, dv = 64, r = 16>(
    q, k: seq[d], v: seq[dv], w_q, w_k: weight[d, r]) {
  map taylor(x, w) {
    h = project(x, w) / sqrt(sqrt(r))
    return concat(1, h, power(h, 2) * sqrt(1 / 2))
  }
  return attend(taylor(q, w_q), taylor(k, w_k), v) causal normalize sum(1e-12)
}

// The values of the 1.3B model are 112 wide (1792 / 16 heads).
polyattn.attention @based_dv112<d = 64, dv = 112, r = 16>(
    q, k: seq[d], v: seq[dv], w_q, w_k: weight[d, r]) {
  map taylor(x, w) {
    h = project(x, w) / sqrt(sqrt(r))
    return concat(1, h, sym(h, 2) * sqrt(1 / 2))
  }
  return attend(taylor(q, w_q), taylor(k, w_k), v) causal normalize sum(1e-12)
}
