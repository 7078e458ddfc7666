// Hedgehog (Zhang et al. 2024): features that mimic softmax, [softmax(x W), softmax(-x W)], each
// over its own half. d = dv = 64, D = 128; the weight is one per head, for queries and for keys.

polyattn.attention @hedgehog<d = 64, dv = 64, m = 64>(
    q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, m]) {
  map phi(x, w) {
    z = project(x, w)
    return softmax(concat(z, -z), groups = 2)
  }
  return attend(phi(q, w_q), phi(k, w_k), v) causal normalize sum(1e-6)
}

// flash-linear-attention's: a bias, the factor 2, one softmax over both halves.
polyattn.attention @hedgehog_joint<d = 64, dv = 64, m = 64>(
    q, k: seq[d], v: seq[dv], w_q: head_weight[d, m], b_q: head_weight[m], w_k: head_weight[d, m],
    b_k: head_weight[m]) {
  map phi(x, w, b) {
    z = project(x, w, b)
    return softmax(concat(z * 2, z * -2))
  }
  return attend(phi(q, w_q, b_q), phi(k, w_k, b_k), v) causal normalize sum(1e-6)
}

// The paper's first form: exponentials, not normalized over the features.
polyattn.attention @hedgehog_exp<d = 64, dv = 64, m = 64>(
    q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, m]) {
  map phi(x, w) {
    z = project(x, w)
    return exp(concat(z, -z))
  }
  return attend(phi(q, w_q), phi(k, w_k), v) causal normalize sum(1e-6)
}
