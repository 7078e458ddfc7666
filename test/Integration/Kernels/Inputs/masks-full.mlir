// Squares whose scores are cheaper than their features: short calls have all pairs.
polyattn.attention @squares<d = 8, dv = 16>(q, k: seq[d], v: seq[dv]) {
  map phi(x) = sym(x, 2)
  return attend(phi(q), phi(k), v) full normalize sum(1e-6)
}
