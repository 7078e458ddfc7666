// Convolutions along positions, whose filters are as long as the sequence, and gates between them.
// `convolve` has a filter h of `lags` numbers for each channel: y_i = sum over j <= i of
// h(i - j) x_j. Time grows as T log T. Filters are arguments: whoever calls computes them, from a
// small network of the position (Hyena), a state space (H3, S4) or anything else.

// The operator of order 2 of "Hyena Hierarchy" (Poli et al. 2023, definition 3.1), after its
// projections and short convolutions: two gates around a long convolution. As in the authors' code,
// an order less one are long convolutions, and the innermost is the short one before. d = 64
// channels a head.
polyattn.attention @hyena<d = 64, lags = 4096>(q, k, v: seq[d], h: head_weight[lags, d]) {
  return q * convolve(k * v, h)
}

// The same of order 3: a gate and a convolution more.
polyattn.attention @hyena_3<d = 32, lags = 1024>(
    q, r, k, v: seq[d], h1, h2: head_weight[lags, d]) {
  return q * convolve(r * convolve(k * v, h1), h2)
}

// H3 (Fu et al. 2023, section 3.1) with heads of one channel: a shift by few positions, a product,
// and a diagonal state space, both written as the filters that they are.
polyattn.attention @h3<d = 32, shift = 4, lags = 512>(
    q, k, v: seq[d], s: head_weight[shift, d], h: head_weight[lags, d]) {
  return q * convolve(convolve(k, s) * v, h)
}

// Token mixing of "Toeplitz Neural Networks" (Qin et al. 2023), equation 7, for all positions: a
// filter of the lags before and one of those after, here one for all heads.
polyattn.attention @toeplitz_network<d = 48, lags = 512>(v: seq[d], before, after: weight[lags, d]) {
  return convolve(v, before) + convolve(v, after, reversed = true)
}

// A circular convolution, with one number for each lag and all channels.
polyattn.attention @circular<d = 16, lags = 256>(v: seq[d], h: head_weight[lags]) {
  return convolve(v, h, circular = true)
}
