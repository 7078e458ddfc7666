// An attend of what a convolution computes.
polyattn.attention @mixed<d = 8, lags = 20>(q, k, v: seq[d], h: weight[lags, d]) {
  return attend(elu_plus_one(q), elu_plus_one(convolve(k, h)), v) causal normalize sum(1e-6)
}

// A filter forwards and backwards: each way would have a gradient of its own.
polyattn.attention @both_ways<d = 6, lags = 20>(v: seq[d], h: weight[lags, d]) {
  return convolve(v, h) + convolve(v, h, reversed = true)
}

// A filter of all channels, for vectors of two widths: their gradients are sums of two kinds.
polyattn.attention @two_widths<lags = 20>(x: seq[6], y: seq[4], h: weight[lags]) -> (a, b) {
  return convolve(x, h), convolve(y, h)
}
