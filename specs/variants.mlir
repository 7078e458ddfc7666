// Where implementations of one name differ, and how a spec says which is meant (docs/Semantics.md
// lists all of them). Compositions that no other file of the library shows.

// DPFP (Schlag et al. 2021), nu = 1: [relu(x), relu(-x)] times itself rolled by one place.
polyattn.attention @dpfp_attention<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map dpfp(x) {
    f = concat(relu(x), relu(-x))
    return f * f[-1, 0:-1]
  }
  return attend(dpfp(q), dpfp(k), v) causal normalize sum(1e-6)
}

// A learned gain and bias, then the upper triangle of x (x) x with unweighted products, which is no
// power of an inner product and keeps its features. ReBased (Aksenov et al. 2024) has the root of 2
// off the diagonal: there `triu(y, y, weights = sqrt2)` is the score's square, `sym(y, 2)`.
polyattn.attention @triangle_attention<d = 16, dv = 64>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d]) {
  map triangle(x) {
    y = layer_norm(x, gamma, beta, eps = 1e-5)
    return triu(y, y, weights = none)
  }
  return attend(triangle(q), triangle(k), v) causal normalize none
}

// Features divided by their sum, and a floor under every feature. A bias of the denominator other
// than
// 1, and a scale of the scores.
polyattn.attention @summed_attention<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map summed(x) = sum_norm(clamp_min(elu_plus_one(x), 1e-6), eps = 1e-4)
  return attend(summed(q), summed(k), v) causal normalize bias(0.5) score_scale 0.125
}

// xPos: rotated, and scaled by a table of one vector per position. Queries grow as keys shrink, so
// that the table is given for each side.
polyattn.attention @xpos_attention<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2], size_q, size_k: table[d]) {
  map xpos(x, size) = rope(x, freqs, layout = half) * size
  return attend(xpos(q, size_q), xpos(k, size_k), v) causal normalize none
}

// Lightning attention with silu and normalized queries and keys: a root-mean-square norm with a
// gain is written out. Partial rotary: the first half of the channels.
polyattn.attention @lightning_attention<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], gain: weight[d], freqs: weight[d / 4], log_decay: head_decay) {
  map lightning(x) {
    unit = x * (squared_norm(x) / d + 1e-6) ** -0.5
    return rope(silu(unit * gain), freqs, layout = half, dims = d / 2)
  }
  return attend(lightning(q), lightning(k), v) causal normalize none decay log_decay gate_heads kv
}

// eps added to every sum of keys, o = phi_q^T S / (phi_q^T (z + eps)), as linear attentions of
// vision
// models have it: phi_q^T z is an attention over the constant 1, and eps adds eps times the sum of
// the
// query's features, a projection by ones.
polyattn.attention @eps_on_sums<d = 16, dv = 64>(q, k: seq[d], v: seq[dv], sum: weight[d, 1]) {
  x = exp(q)
  y = exp(k)
  n = attend(x, y, v) causal normalize none
  z = attend(x, y, constant(1)) causal normalize none
  return n / (z + project(x, sum) * 1e-6)
}
