// Power attention. Gelada et al. 2025, "Scaling context requires rethinking attention"; FPA,
// background and appendix. The score is (<q, k> / sqrt d)^p: the scale d^(-1/4) sits on both
// vectors, before the power. d = dv = 64, p = 2 as in the authors' models.

// TPOW: all d^p products, D = 4096.
polyattn.attention @power_tpow<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map phi(x) = power(x * d ** -0.25, 2)
  return attend(phi(q), phi(k), v) causal normalize sum(1e-6)
}

// The symmetric power: sorted monomials times the root of their multinomial, D = 2080.
polyattn.attention @power<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map phi(x) = sym(x * d ** -0.25, 2)
  return attend(phi(q), phi(k), v) causal normalize sum(1e-6)
}

// TSPOW: sorted pairs of whole blocks of 16, the authors' layout, D = 2560. Same scores.
polyattn.attention @power_tspow<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map phi(x) = sym(x * d ** -0.25, 2, block = 16)
  return attend(phi(q), phi(k), v) causal normalize sum(1e-6)
}

// With a gate per token and key head, log g: what the authors train.
polyattn.attention @power_gated<d = 64, dv = 64>(q, k: seq[d], v: seq[dv], log_gate: decay) {
  map phi(x) = sym(x * d ** -0.25, 2, block = 16)
  return attend(phi(q), phi(k), v) causal normalize sum(1e-6) decay log_gate gate_heads kv
}

// FPA's statement of it, without normalizer: sum over j <= i of <q_i, k_j>^p v_j, here p = 3,
// which keeps the sign of the score.
polyattn.attention @power_p3<d = 16, dv = 64>(q, k: seq[d], v: seq[dv]) {
  map phi(x) = sym(x * d ** -0.25, 3)
  return attend(phi(q), phi(k), v) causal normalize none
}
