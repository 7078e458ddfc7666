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
