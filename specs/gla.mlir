// Gated linear attention. Yang et al. 2024, "Gated Linear Attention Transformers with
// Hardware-Efficient Training", equation 3: S_t = diag(alpha_t) S_{t-1} + k_t^T v_t, o_t = q_t S_t.
// Each feature decays by a number of its own, whose logarithm the token gives.
//
// d = dv = 64; queries are multiplied by 1 / sqrt(d), as in the paper's code.

polyattn.attention @gla<d = 64, dv = 64>(q, k: seq[d], v: seq[dv], log_decay: decay[d]) {
  return attend(q, k, v) causal normalize none decay log_decay score_scale 0.125
}
