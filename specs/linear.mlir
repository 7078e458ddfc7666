// Linear attention. Katharopoulos et al. 2020, "Transformers are RNNs": phi(x) = elu(x) + 1,
// normalized by the sum of the scores; d = dv = 64, eps = 1e-6 (primer).
//
// The later entries say the same attention under every circumstance that the language knows: the
// full mask, grouped heads, decays, states carried in and out.

polyattn.attention @linear<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
}

// Every query sees every key; the numbers of queries and keys may differ.
polyattn.attention @linear_full<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) full normalize sum(1e-6)
}

// Query head h reads key head h mod Hkv (the FPA reference's grouping).
polyattn.attention @linear_interleaved<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      grouping interleaved
}

// A state before position 0 and after the last one: what prefill hands to decoding.
polyattn.attention @linear_states<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], state: state[d, dv], state_z: state_normalizer[d])
    -> (o, final, final_z) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      initial state initial_normalizer state_z final_state
}

// A decay per token and key head, given as log g, and states.
polyattn.attention @linear_gated<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], log_decay: decay, state: state[d, dv], state_z: state_normalizer[d])
    -> (o, final, final_z) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      decay log_decay gate_heads kv initial state initial_normalizer state_z final_state
}

// A decay per token and *query* head: with grouped heads each query head has a state of its own.
polyattn.attention @linear_query_gates<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], log_decay: decay) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      decay log_decay gate_heads q
}

// One decay per head for all positions.
polyattn.attention @linear_head_decay<d = 64, dv = 64>(
    q, k: seq[d], v: seq[dv], log_decay: head_decay) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
      decay log_decay gate_heads kv
}
