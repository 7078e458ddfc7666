// Tables of all distances that calls have, where queries see keys on both sides.
polyattn.attention @two_sided<d = 16, dv = 24, lags = 79>(
    q, k: seq[d], v: seq[dv], b: head_weight[lags]) {
  c = relative(b, beyond = error, log = true, two_sided = true)
  return attend(tensor(c, elu_plus_one(q)), tensor(c, elu_plus_one(k)), v) full normalize sum(1e-6)
}

// The shorter of two tables is the limit. A third one ends.
polyattn.attention @tables<d = 8, dv = 24, n = 40>(
    q, k: seq[d], v: seq[dv], b: weight[n], c: head_weight[50], e: weight[9]) {
  map phi(x, t, u, w) {
    r = relative(t, beyond = error)
    s = relative(u, beyond = error)
    return concat(tensor(r, s, sym(x, 2)), relative(w, beyond = zero))
  }
  return attend(phi(q, b, c, e), phi(k, b, c, e), v) full normalize none
}
