// Tables of all distances that calls have: T and Tk are at most n.
polyattn.attention @causal<d = 16, dv = 24, n = 40>(
    q, k: seq[d], v: seq[dv], b: head_weight[n]) {
  c = relative(b, beyond = error, log = true)
  return attend(tensor(c, elu_plus_one(q)), tensor(c, elu_plus_one(k)), v) causal normalize sum(1e-6)
}

// The exponent of a softmax has a bias.
polyattn.attention @biased<d = 16, dv = 24, n = 40>(
    q, k: seq[d], v: seq[dv], b: weight[n]) {
  c = relative(b, beyond = error)
  return attend(concat(q / sqrt(d), c), concat(k, c), v) causal normalize softmax
}
