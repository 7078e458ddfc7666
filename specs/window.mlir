// A window in the row: softmax over the nearest keys, alone or beside linear attention. BASED (Arora
// et al. 2024) and PolySketchFormer (Kacham et al. 2024, table 7) train models whose layers have such
// windows. Row i of a softmax is the sum of exp(s_ij) v_j over the sum of exp(s_ij), s the score.

// Softmax attention over all keys before: the baseline of every linear attention.
polyattn.attention @softmax<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) causal normalize softmax score_scale 1 / sqrt(d)
}

// The same over the nearest w keys.
polyattn.attention @softmax_window<d = 64, dv = 64, w = 256>(q, k: seq[d], v: seq[dv]) {
  return attend(q, k, v) causal normalize softmax window w score_scale 1 / sqrt(d)
}
