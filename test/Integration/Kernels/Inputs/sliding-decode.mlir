// Local windows that slide, in calls that continue: the state takes in the keys that leave them.
polyattn.attention @plain<d = 16, dv = 24, w = 50>(q, k: seq[d], v: seq[dv]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      local(exp_score(q / sqrt(d)), exp_score(k)) block w sliding
}

// Features of powers, whose state has several blocks of features; positions; no denominator.
polyattn.attention @turned<d = 16, dv = 24, w = 33>(q, k: seq[d], v: seq[dv], f: weight[8]) {
  a = rope(q, f, layout = half)
  b = rope(k, f, layout = half)
  return attend(sym(a, 2), sym(b, 2), v) causal normalize none local(sym(a / 2, 2), sym(b, 2)) block w sliding
}

// Two windows, each with a state of its own.
polyattn.attention @two_windows<d = 16, dv = 24>(q, k: seq[d], v: seq[dv]) {
  o = attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6) local(exp_score(q), exp_score(k)) block 5 sliding
  p = attend(power(q, 2), power(k, 2), v) causal normalize bias(1) local(sym(q, 2), sym(k, 2)) block 70 sliding
  return o + p
}

// Beside a state that has all keys, and a softmax over the nearest.
polyattn.attention @hybrid<d = 16, dv = 24, w = 40>(q, k: seq[d], v: seq[dv], g: decay) {
  o = attend(q, k, v) causal normalize none decay g
  p = attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6) local(exp_score(q), exp_score(k)) block w sliding
  r = attend(q, k, v) causal normalize softmax window 9 score_scale 0.25
  return o + p + r
}

// The divisor is a mean over all keys, those of calls before among them.
polyattn.attention @mean<d = 16, dv = 24, w = 20>(q, k: seq[d], v: seq[dv]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6, reduce = mean)
      local(exp(q), elu_plus_one(k)) block w sliding
}

// Weights of each head, as in LoLCATs.
polyattn.attention @projected<d = 16, dv = 24, m = 16, w = 24>(q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, m]) {
  map phi(x, w) {
    z = project(x, w)
    return softmax(concat(z, -z), groups = 2)
  }
  return attend(phi(q, w_q), phi(k, w_k), v) causal normalize sum(1e-6)
      local(exp_score(q / sqrt(d)), exp_score(k)) block w sliding
}

// A table of distances that repeats its last number is such a window.
polyattn.attention @table<d = 16, dv = 24, distances = 40>(q, k: seq[d], v: seq[dv], b: head_weight[distances]) {
  c = relative(b, beyond = last, log = true)
  return attend(tensor(c, elu_plus_one(q)), tensor(c, elu_plus_one(k)), v) causal normalize sum(1e-6)
}

// Powers, whose pair with itself comes from its score, and a window, in one kernel with it.
polyattn.attention @beside_powers<d = 16, dv = 24>(q, k: seq[d], v: seq[dv]) {
  o = attend(sym(q, 2), sym(k, 2), v) causal normalize bias(1)
  p = attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6) local(exp_score(q), exp_score(k)) block 18 sliding
  r = attend(q, k, v) causal normalize softmax window 7 score_scale 0.25
  return o + p + r
}
