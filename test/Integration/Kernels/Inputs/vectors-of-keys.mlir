// Keys whose vectors take long to form, so that a kernel before the others computes them: with gains and weights, with
// weights of each head, with rotations, beside states, and beside local scores of the same vectors.
polyattn.attention @sketch<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], gamma, beta: weight[d], g1, g2: weight[d, r]) {
  map psi(x) = project(x, g1) * project(x, g2) / sqrt(r)
  map phi(x) = sym(psi(layer_norm(x, gamma, beta, eps = 1e-5)), 2)
  return attend(phi(q), phi(k), v) causal normalize bias(1)
}

polyattn.attention @sketch_full<d = 64, dv = 64, r = 32>(
    q, k: seq[d], v: seq[dv], g1, g2, g3: head_weight[d, r]) {
  map phi(x) = sym(tanh(project(x, g1) * project(x, g2) * project(x, g3)), 2)
  return attend(phi(q), phi(k), v) full normalize sum(1e-3)
}

polyattn.attention @sketch_anticausal<d = 64, dv = 64, r = 24>(
    q, k: seq[d], v: seq[dv], g1, g2, g3: weight[d, r], freqs: weight[r / 2]) {
  map psi(x) = rope(tanh(project(x, g1) * project(x, g2) * project(x, g3)), freqs, layout = half)
  map phi(x) = sym(psi(x), 2)
  return attend(phi(q), phi(k), v) anticausal normalize sum(1e-3)
}

polyattn.attention @sketch_states<d = 64, dv = 64, r = 24>(
    q, k: seq[d], v: seq[dv], g1, g2, g3: weight[d, r], g: decay, s: state[r * (r + 1) / 2, dv]) {
  map phi(x) = sym(tanh(project(x, g1) * project(x, g2) * project(x, g3)), 2)
  return attend(phi(q), phi(k), v) causal normalize none decay g gate_heads kv initial s final_state
}

polyattn.attention @sketch_local<d = 64, dv = 64, r = 24>(
    q, k: seq[d], v: seq[dv], g1, g2: weight[d, r]) {
  map psi(x) = tanh(project(x, g1) * project(x, g2))
  a = psi(q)
  b = psi(k)
  return attend(sym(a, 2), sym(b, 2), v) causal normalize sum(1e-3) local(sym(a, 2), sym(b, 2)) block 128
}
