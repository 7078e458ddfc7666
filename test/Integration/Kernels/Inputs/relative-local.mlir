// Tables of distances in local blocks, beside them, and in both with one decay and two tables.
polyattn.attention @in_blocks<d = 16, dv = 24, distances = 20, n = 48>(
    q, k: seq[d], v: seq[dv], b: head_weight[distances]) {
  c = relative(b, beyond = last)
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      local(exp_score(concat(q / sqrt(d), c)), exp_score(concat(k, c))) block n
}

polyattn.attention @beside_blocks<d = 16, dv = 24, distances = 70, n = 32>(
    q, k: seq[d], v: seq[dv], b: weight[distances]) {
  c = relative(b, beyond = zero, log = true)
  return attend(tensor(c, elu_plus_one(q)), tensor(c, elu_plus_one(k)), v) causal normalize sum(1e-6)
      local(elu_plus_one(q), elu_plus_one(k)) block n
}

polyattn.attention @in_both<d = 16, dv = 24, n = 100>(
    q, k: seq[d], v: seq[dv], b: head_weight[50], e: head_weight[9], g: decay) {
  c = relative(b, beyond = last)
  r = relative(e, beyond = last)
  return attend(concat(tensor(c, q), r), concat(tensor(c, k), r), v) causal normalize none decay g
      score_scale 0.5 local(tensor(r, c, q), tensor(r, c, k)) block n
}
