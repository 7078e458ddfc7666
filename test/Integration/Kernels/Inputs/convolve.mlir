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
