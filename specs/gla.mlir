// Gated linear attention. Yang et al. 2024, "Gated Linear Attention Transformers with
// Hardware-Efficient Training", equation 3: S_t = diag(alpha_t) S_{t-1} + k_t^T v_t, o_t = q_t S_t.
// Each feature decays by a number of its own, whose logarithm the token gives.
//
// d = dv = 64; queries are multiplied by 1 / sqrt(d), as in the paper's code.

polyattn.attention @gla<d = 64, dv = 64>(q, k: seq[d], v: seq[dv], log_decay: decay[d]) {
  return attend(q, k, v) causal normalize none decay log_decay score_scale 0.125
}

// The same with a state before position 0 and after the last one: what
// prefill hands to decoding.
polyattn.attention @gla_states<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], log_decay: decay[d], state: state[d, dv]) -> (o, final) {
  return attend(q, k, v) causal normalize none decay log_decay score_scale 0.125
      initial state final_state
}

// The same with features that are positive, divided by their sum, which decays with them; each key head and its
// decay serve several query heads, and values are wider than keys.
polyattn.attention @gla_normalized<d = 32, dv = 48>(
    q, k: seq[d], v: seq[dv], log_decay: decay[d]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      decay log_decay gate_heads kv grouping block
}

// The same with a state for each query head, and squares of key and query as features.
polyattn.attention @gla_squares<d = 16, dv = 64>(
    q, k: seq[d], v: seq[dv], log_decay: decay[136]) {
  return attend(sym(q, 2), sym(k, 2), v) causal normalize none decay log_decay gate_heads q grouping block
}
