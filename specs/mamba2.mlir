// Mamba-2, the state space dual. Dao and Gu 2024, "Transformers are SSMs: Generalized Models and
// Efficient Algorithms Through Structured State Space Duality", equation 2: the state of a
// head decays by one number, S_t = exp(dt_t A) S_{t-1} + B_t (dt_t x_t)^T, y_t = C_t^T S_t.
// C is a query, B a key and x a value. The heads of a group share B and C ("multi-value attention"),
// so these have Hkv heads and all else has H.
//
// N = 128 is the state's dimension and P = 64 that of a head, as in the paper's models. `log_decay` is
// dt A, and x has been multiplied by dt.

polyattn.attention @mamba2<n = 128, p = 64>(c, b: shared_seq[n], x: seq[p], log_decay: decay) -> (y) {
  return attend(c, b, x) causal normalize none decay log_decay
}

// The whole head: dt multiplies x, and D x is added to each row ("skip").
polyattn.attention @mamba2_head<n = 128, p = 64>(
    c, b: shared_seq[n], x: seq[p], dt: seq[1], log_decay: decay, skip: head_weight[p]) -> (y) {
  seen = attend(c, b, x * dt) causal normalize none decay log_decay
  return seen + x * skip
}

// With a state before position 0 and after the last one.
polyattn.attention @mamba2_states<n = 128, p = 64>(
    c, b: shared_seq[n], x: seq[p], log_decay: decay, state: state[n, p]) -> (y, final) {
  return attend(c, b, x) causal normalize none decay log_decay initial state final_state
}
