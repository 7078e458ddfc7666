// States and weights that are more than one multiprocessor keeps: programs of a cluster share the
// features. 256 of them, which are positive, so that every normalizer can divide by their sums.

polyattn.feature_map @positive(%x: [64], %theta: 64x256, %bias: 256) {
  %y = project %x, %theta : [64], 64x256
  %z = add_vec %y, %bias : [256], 256
  %phi = softplus %z : [256]
  yield %phi : [256]
}

polyattn.attention @gated_cluster(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %theta: tensor<64x256xf32>, %bias: tensor<256xf32>, %log_decay: tensor<?x?x?xf32>,
    %state: tensor<?x?x256x64xf32>, %state_z: tensor<?x?x256xf32>)
    -> (o: tensor<?x?x?x64xf32>, final: tensor<?x?x256x64xf32>, final_z: tensor<?x?x256xf32>) {
  %phi_q = apply @positive(%q, %theta, %bias) : tensor<?x?x?x64xf32>, tensor<64x256xf32>, tensor<256xf32> -> [256]
  %phi_k = apply @positive(%k, %theta, %bias) : tensor<?x?x?x64xf32>, tensor<64x256xf32>, tensor<256xf32> -> [256]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o:3 = attend query %phi_q key %phi_k value %values decay %log_decay
      initial %state initial_normalizer %state_z
      causal normalize <sum, eps = 1.0e-6>
      {final_state, gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : [256], [256], [64], tensor<?x?x?xf32>, tensor<?x?x256x64xf32>, tensor<?x?x256xf32>
  return %o#0, %o#1, %o#2 : [64], tensor<?x?x256x64xf32>, tensor<?x?x256xf32>
}

// Weights of each head, all keys for every query, a mean of the values beside.
polyattn.feature_map @per_head(%x: [64], %theta: 64x256) {
  %y = project %x, %theta : [64], 64x256
  %phi = softplus %y : [256]
  yield %phi : [256]
}

polyattn.attention @full_cluster(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %theta_q: tensor<?x64x256xf32>, %theta_k: tensor<?x64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @per_head(%q, %theta_q) : tensor<?x?x?x64xf32>, tensor<?x64x256xf32> -> [256]
  %phi_k = apply @per_head(%k, %theta_k) : tensor<?x?x?x64xf32>, tensor<?x64x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      full normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [64]
  return %o : [64]
}
