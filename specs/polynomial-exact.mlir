// Polynomial attention without sketches (PolySketchFormer, section 2.1): the score is <q', k'>^p
// for even p, q' and k' layer-normalized with a learned gain and bias (which absorb the scale), the
// denominator 1 + Z. d = dv = 64.
//
// p = 2 has 2080 features. p = 4 has 766480, p = 8 about 10^10: only the quadratic form exists,
// scores tile by tile; the same text says so, since a power's scores need no features.

polyattn.attention @polynomial_p2<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d]) {
  map phi(x) = sym(layer_norm(x, gamma, beta, eps = 1e-5), 2)
  return attend(phi(q), phi(k), v) causal normalize bias(1)
}

polyattn.attention @polynomial_p4<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d]) {
  map phi(x) = sym(layer_norm(x, gamma, beta, eps = 1e-5), 4)
  return attend(phi(q), phi(k), v) causal normalize bias(1)
}

polyattn.attention @polynomial_p8<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d]) {
  map phi(x) = sym(layer_norm(x, gamma, beta, eps = 1e-5), 8)
  return attend(phi(q), phi(k), v) causal normalize bias(1)
}
