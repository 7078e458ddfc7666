// Element-wise powers (LLoPS, section 3.3): phi(x) = (x W)^{*p}, LLoPS with all its projections
// equal. d = dv = 64, m = 256, p = 4; an even power needs no further guard of the sign.
polyattn.attention @elementwise_power<d = 64, dv = 64, m = 256>(
    q, k: seq[d], v: seq[dv], w_q, w_k: weight[d, m]) {
  map phi(x, w) = project(x, w) ** 4
  return attend(phi(q, w_q), phi(k, w_k), v) causal normalize sum(1e-6)
}

// FLatten (Han et al. 2023), the focused feature map: r = relu(x), sharpened to r^{*3} and brought
// back to the length of r.
polyattn.attention @flatten<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map sharpened(r) = l2_rescale(r ** 3, r)
  return attend(sharpened(relu(q)), sharpened(relu(k)), v) causal normalize sum(1e-6)
}

// The same with everything that the authors' code has besides: a position added to keys, 1e-6 added
// to the features before they are divided by softplus(s), s learned per channel. (Their norms run
// over all heads together, which is a dependence between heads; here they are per head.)
//
// A vision model's attention: every query sees every key, numerator and denominator are means,
// so that eps is one for any number of keys.
polyattn.attention @flatten_vision<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], s: weight[d], position: head_table[d]) {
  map focused(x) {
    r = (relu(x) + 1e-6) / softplus(constant(0, width = d) + s)
    return l2_rescale(r ** 3, r)
  }
  return attend(focused(q), focused(k + position), v) full normalize sum(1e-6, reduce = mean)
}
