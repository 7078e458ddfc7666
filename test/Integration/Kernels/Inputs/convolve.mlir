// A gate, with a number of channels that callers choose.
polyattn.attention @gated<d = 7, lags = 40>(k, v: seq[d], h: head_weight[lags, d]) {
  return convolve(k * v, h)
}

// Circular both ways, after a projection, with a filter of one number for each lag.
polyattn.attention @circular_pair<d = 5, lags = 40>(
    k, v: seq[d], h: head_weight[lags, d], w: weight[d, d], s: weight[lags]) {
  u = convolve(project(k, w), h, circular = true)
  return convolve(u * v, s, circular = true, reversed = true)
}

// One filter of two convolutions, whose results are results themselves.
polyattn.attention @twice<d = 6, lags = 20>(k, v: seq[d], h: weight[lags, d]) -> (x, y) {
  x = convolve(k, h)
  y = convolve(x * v, h)
  return x, y
}

// A sequence that nothing reads, and no rows but those of tables, computed and as they are.
polyattn.attention @of_tables<d = 6, lags = 20>(
    v: seq[d], t: table[d], u: head_table[d], h: weight[lags, d], s: head_weight[lags]) {
  return convolve(relu(t), h) * convolve(u, s, reversed = true)
}

// Three, one after another, whose backward half has many workspaces.
polyattn.attention @chain<d = 6, lags = 20>(q, k, v: seq[d], h1, h2, h3: head_weight[lags, d]) {
  return convolve(q * convolve(k * convolve(v, h1), h2), h3)
}
