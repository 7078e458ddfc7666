// Random Fourier features (primer; random feature attention): phi(x) = sqrt(1/m) [cos(w_i x),
// sin(w_i x)] for m Gaussian directions w_i, given as the columns of an argument. The score
// estimates the Gaussian kernel exp(-|q - k|^2 / 2) without bias, and may come out negative; the
// floor on the denominator is the primer's. d = dv = 64, m = 256, D = 512. Vectors are scaled by
// d^(-1/4), so that <q, k> is divided by sqrt d.

polyattn.attention @rff<d = 64, dv = 64, m = 256>(q, k: seq[d], v: seq[dv], w: weight[d, m]) {
  map phi(x) {
    wx = project(x * d ** -0.25, w)
    return concat(cos(wx), sin(wx)) / sqrt(m)
  }
  return attend(phi(q), phi(k), v) causal normalize sum(1e-6, min_denom = 1e-4) signed_scores
}

// Times exp(|x|^2 / 2): an estimate of the softmax kernel exp(<q, k> / sqrt d).
polyattn.attention @rff_softmax<d = 64, dv = 64, m = 256>(
    q, k: seq[d], v: seq[dv], w: weight[d, m]) {
  map phi(x) {
    h = x * d ** -0.25
    wx = project(h, w)
    return concat(cos(wx), sin(wx)) * exp(squared_norm(h) * 0.5) / sqrt(m)
  }
  return attend(phi(q), phi(k), v) causal normalize sum(1e-6, min_denom = 1e-4) signed_scores
}
