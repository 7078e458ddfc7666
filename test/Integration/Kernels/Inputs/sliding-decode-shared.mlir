// Keys and values that heads share.
polyattn.attention @shared<d = 16, dv = 24, w = 30>(q: seq[d], k: shared_seq[d], v: shared_seq[dv]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      local(exp_score(q), exp_score(k)) block w sliding
}
