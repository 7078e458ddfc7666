// Scores of about 1e4, where exponentials leave the range of all types.
polyattn.attention @far<d = 16, dv = 24>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) causal normalize softmax window 50 score_scale 1000
}

polyattn.attention @biased<d = 16, dv = 24, n = 32>(q, k: seq[d], v: seq[dv], t: head_weight[n]) {
  c = relative(t, beyond = last)
  return attend(concat(q, c), concat(k, c), v) causal normalize softmax window 70 score_scale 0.25
}

polyattn.attention @decayed<d = 16, dv = 24>(q, k: seq[d], v: seq[dv], g: decay) {
  return attend(q, k, v) causal normalize none window 40 decay g
}

polyattn.attention @powers<d = 16, dv = 24>(q, k: seq[d], v: seq[dv]) {
  return attend(tensor(exp_score(q / 4), power(q, 2)), tensor(exp_score(k), power(k, 2)), v) causal
      normalize sum(1e-6) window 33
}

polyattn.attention @full<d = 16, dv = 24>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) full normalize softmax window 30 score_scale 0.25
}
