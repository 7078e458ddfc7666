// Linear attention. Katharopoulos et al. 2020, "Transformers are RNNs": phi(x) = elu(x) + 1,
// normalized by the sum of the scores; d = dv = 64, eps = 1e-6 (primer).
//
// The later entries say the same attention under every circumstance that the language knows:
// storage types, the full mask, grouped heads, decays, states carried in and out.

polyattn.feature_map @elu(%x: [64]) {
  %phi = elu_plus_one %x : [64]
  yield %phi : [64]
}

polyattn.attention @linear(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                           %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

polyattn.attention @linear_bf16(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>,
                                %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xbf16> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xbf16> -> [64]
  %values = read %v : tensor<?x?x?x64xbf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

polyattn.attention @linear_f16(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>,
                               %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf16> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf16> -> [64]
  %values = read %v : tensor<?x?x?x64xf16> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

// Every query sees every key; the numbers of queries and keys may differ.
polyattn.attention @linear_full(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      full normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}

// Query head h reads key head h mod Hkv (the FPA reference's grouping).
polyattn.attention @linear_interleaved(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                       %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<interleaved>}
    : [64], [64], [64]
  return %o : [64]
}

// A state before position 0 and after the last one: what prefill hands to decoding.
polyattn.attention @linear_states(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %state: tensor<?x?x64x64xf32>, %state_z: tensor<?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>, final: tensor<?x?x64x64xf32>, final_z: tensor<?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o:3 = attend query %phi_q key %phi_k value %values initial %state initial_normalizer %state_z
      causal normalize <sum, eps = 1.0e-6>
      {final_state, grouping = #polyattn.grouping<block>}
    : [64], [64], [64], tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
  return %o#0, %o#1, %o#2 : [64], tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
}

// A decay per token and key head, given as log g, and states.
polyattn.attention @linear_gated(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %log_decay: tensor<?x?x?xf32>, %state: tensor<?x?x64x64xf32>, %state_z: tensor<?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>, final: tensor<?x?x64x64xf32>, final_z: tensor<?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o:3 = attend query %phi_q key %phi_k value %values decay %log_decay
      initial %state initial_normalizer %state_z
      causal normalize <sum, eps = 1.0e-6>
      {final_state, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [64], [64], [64], tensor<?x?x?xf32>, tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
  return %o#0, %o#1, %o#2 : [64], tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
}

// A decay per token and *query* head: with grouped heads each query head has a state of its own.
polyattn.attention @linear_query_gates(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %log_decay: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values decay %log_decay
      causal normalize <sum, eps = 1.0e-6>
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [64], [64], [64], tensor<?x?x?xf32>
  return %o : [64]
}

// One decay per head for all positions.
polyattn.attention @linear_head_decay(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %log_decay: tensor<?xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @elu(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @elu(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values decay %log_decay
      causal normalize <sum, eps = 1.0e-6>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [64], [64], [64], tensor<?xf32>
  return %o : [64]
}
