// Windows that reach into the calls before: alone, with positions, of powers, and beside states.
polyattn.attention @plain<d = 32, dv = 24, w = 50>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) causal normalize softmax window w score_scale 1 / sqrt(d)
}

polyattn.attention @turned<d = 32, dv = 24, w = 50>(q, k: seq[d], v: seq[dv], f: weight[16]) {
  return attend(rope(q, f, layout = half), rope(k, f, layout = half), v) causal normalize softmax
      window w score_scale 1 / sqrt(d)
}

polyattn.attention @powers<d = 16, dv = 24>(q, k: seq[d], v: seq[dv]) {
  return attend(power(q, 2), power(k, 2), v) causal normalize bias(1) window 33
}

// The longest window says how many rows there are.
polyattn.attention @two_windows<d = 16, dv = 24>(q, k: seq[d], v: seq[dv]) {
  o = attend(q, k, v) causal normalize softmax window 5
  p = attend(q, k, v) causal normalize softmax window 70
  return o + p
}

polyattn.attention @hybrid<d = 16, dv = 24, w = 50>(q, k: seq[d], v: seq[dv]) {
  o = attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
  p = attend(q, k, v) causal normalize softmax window w score_scale 0.25
  return o + p
}

polyattn.attention @gated<d = 16, dv = 24, w = 50>(q, k: seq[d], v: seq[dv], g: decay) {
  o = attend(q, k, v) causal normalize none decay g
  p = attend(q, k, v) causal normalize softmax window w score_scale 0.25
  return o + p
}

polyattn.attention @mean<d = 16, dv = 24, w = 50>(q, k: seq[d], v: seq[dv]) {
  o = attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6, reduce = mean)
  p = attend(q, k, v) causal normalize softmax window w score_scale 0.25
  return o + p
}

// Scores by the distance, whose table of each head is shorter than the window.
polyattn.attention @biased<d = 16, dv = 24, w = 50, distances = 20>(
    q, k: seq[d], v: seq[dv], b: head_weight[distances]) {
  c = relative(b, beyond = last)
  return attend(concat(q * 0.25, c), concat(k, c), v) causal normalize softmax window w
}

// One table of all heads, longer than the window, beside a state.
polyattn.attention @biased_hybrid<d = 16, dv = 24, w = 40, distances = 64>(
    q, k: seq[d], v: seq[dv], b: weight[distances]) {
  c = relative(b, beyond = zero, log = true)
  o = attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
  p = attend(tensor(c, elu_plus_one(q)), tensor(c, elu_plus_one(k)), v) causal normalize sum(1e-6) window w
  return o + p
}

// The table ends, so that the attend has a window without the clause.
polyattn.attention @ended<d = 16, dv = 24, distances = 37>(
    q, k: seq[d], v: seq[dv], b: head_weight[distances]) {
  c = relative(b, beyond = zero, log = true)
  return attend(tensor(c, sym(q, 2)), tensor(c, sym(k, 2)), v) causal normalize bias(1)
}

// A window that the table shortens, and another attend with the longest one.
polyattn.attention @ended_windows<d = 16, dv = 24>(
    q, k: seq[d], v: seq[dv], b: weight[5], e: head_weight[70]) {
  c = relative(b, beyond = zero)
  r = relative(e, beyond = last)
  o = attend(tensor(c, q), tensor(c, k), v) causal normalize none window 60
  p = attend(concat(q, r), concat(k, r), v) causal normalize softmax window 45
  return o + p
}

// States of query heads beside a window of key heads.
polyattn.attention @query_gates<d = 16, dv = 24>(q, k: seq[d], v: seq[dv], g: decay) {
  o = attend(q, k, v) causal normalize none decay g gate_heads q
  p = attend(q, k, v) causal normalize softmax window 20 score_scale 0.25
  return o + p
}

// Features with weights, which a kernel before the step computes for many batches, beside a window.
polyattn.attention @weighted<d = 16, dv = 24, m = 32>(q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, m]) {
  o = attend(exp(project(q, w_q)), exp(project(k, w_k)), v) causal normalize sum(1e-6)
  p = attend(project(q, w_q), project(k, w_k), v) causal normalize softmax window 20
  return o + p
}
