// A window in the row: softmax over the nearest keys, alone or beside linear attention. BASED (Arora
// et al. 2024) and PolySketchFormer (Kacham et al. 2024, table 7) train models whose layers have such
// windows. Row i of a softmax is the sum of exp(s_ij) v_j over the sum of exp(s_ij), s the score.

// Softmax attention over all keys before: the baseline of every linear attention.
polyattn.attention @softmax<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) causal normalize softmax score_scale 1 / sqrt(d)
}

// The same over the nearest w keys: the query's own and w - 1 before it.
polyattn.attention @softmax_window<d = 64, dv = 64, w = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) causal normalize softmax window w score_scale 1 / sqrt(d)
}

// All keys, as in an encoder.
polyattn.attention @softmax_full<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) full normalize softmax score_scale 1 / sqrt(d)
}

// The exponent has a bias of the distance, from a table of each head: the relative positions of T5
// (Raffel et al. 2020), whose buckets are gathered into the table. `score_scale` would scale the
// bias, too.
polyattn.attention @softmax_relative<d = 64, dv = 64, distances = 128>(
    q, k: seq[d], v: seq[dv], b: head_weight[distances]) {
  c = relative(b, beyond = last)
  return attend(concat(q / sqrt(d), c), concat(k, c), v) causal normalize softmax
}

// BASED's linear attention over all keys, and softmax over the nearest, added: each has its own
// normalizer. The paper's windows have 64 and 128 keys.
polyattn.attention @based_window<d = 64, dv = 64, r = 16, w = 64>(
    q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, r]) {
  map taylor(x, w) {
    h = project(x, w) / sqrt(sqrt(r))
    return concat(1, h, sym(h, 2) * sqrt(1 / 2))
  }
  far = attend(taylor(q, w_q), taylor(k, w_k), v) causal normalize sum(1e-12)
  near = attend(q, k, v) causal normalize softmax window w score_scale 1 / sqrt(d)
  return far + near
}

// One normalizer for both: scores are exponentials in the query's own block of positions and products
// of hedgehog's features in the blocks before, and all are summed up. `exp_score` subtracts no
// maximum, so that its scores stay below 88 in f32.
polyattn.attention @shared_window<d = 64, dv = 64, m = 64>(
    q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, m]) {
  map phi(x, w) {
    z = project(x, w)
    return softmax(concat(z, -z), groups = 2)
  }
  return attend(phi(q, w_q), phi(k, w_k), v) causal normalize sum(1e-6)
      local(exp_score(q / sqrt(d)), exp_score(k)) block 64
}

// The same where the exact part slides with the query: exponentials for the 64 keys up to its own,
// features for all keys before them (LoLCATs, Zhang et al. 2024, section 3.3). Each query has as many
// exact scores, wherever it stands.
polyattn.attention @sliding_window<d = 64, dv = 64, m = 64>(
    q, k: seq[d], v: seq[dv], w_q, w_k: head_weight[d, m]) {
  map phi(x, w) {
    z = project(x, w)
    return softmax(concat(z, -z), groups = 2)
  }
  return attend(phi(q, w_q), phi(k, w_k), v) causal normalize sum(1e-6)
      local(exp_score(q / sqrt(d)), exp_score(k)) block 64 sliding
}
