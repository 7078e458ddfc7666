// Sequences whose heads are shared, in every place.
polyattn.attention @values(q, k: seq[8], v: shared_seq[6]) -> (o) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
}

// Keys have positions of their own, and nothing that has H heads has them.
polyattn.attention @cross(q: seq[8], k: shared_seq[8], v: shared_seq[6]) -> (o) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) full normalize sum(1e-6)
}

polyattn.attention @queries(q: shared_seq[8], k: seq[8], v: seq[6]) -> (o) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) full normalize sum(1e-6)
}

// No argument has H heads but the weights.
polyattn.attention @all(q, k, v: shared_seq[8], w: head_weight[8, 12]) -> (o) {
  return attend(project(q, w), project(k, w), v) causal normalize none
}

// One sequence on both sides, and in the result; a softmax beside linear attention.
polyattn.attention @windows(x, y: shared_seq[8], v: seq[8], scale: head_weight[8]) -> (o) {
  near = attend(x * scale, y, v) causal normalize softmax window 16 score_scale 0.25
  far = attend(relu(x), relu(y * scale), v + x) causal normalize sum(1e-3)
  return near + far * y
}

// No attend.
polyattn.attention @rows(q: shared_seq[8], k: seq[8]) -> (o) {
  return q * k + q
}

// The sum of a weight's gradient has programs of H heads, though its first vector has fewer.
polyattn.attention @projected(q: shared_seq[8], w: weight[8, 12], u: head_weight[8]) -> (o, p) {
  return project(q, w), q * u
}

// Keys and values of local blocks, with states of key heads that decay.
polyattn.attention @kept(q, k, v: shared_seq[8], w: head_weight[8, 8], g: decay) -> (o) {
  return attend(project(q, w), project(k, w), v) causal normalize none local(q, k) block 16 decay g
}

// Local blocks, rotations, and a table of each head.
polyattn.attention @local(q, k: shared_seq[8], v: seq[8], f: weight[4], t: head_table[8]) -> (o) {
  return attend(rope(q, f, layout = half), rope(k * t, f, layout = half), v) causal normalize none local(q, k * t) block 16
}
