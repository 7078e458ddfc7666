// Power attention. Gelada et al. 2025, "Scaling context requires rethinking attention"; FPA,
// background and appendix. The score is (<q, k> / sqrt d)^p: the scale d^(-1/4) sits on both
// vectors, before the power. d = dv = 64, p = 2 as in the authors' models.

// TPOW: all d^p products, D = 4096.
polyattn.feature_map @tpow(%x: [64]) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %phi = power %h {degree = 2} : [64]
  yield %phi : pow 2 [64]
}

// The symmetric power: sorted monomials times the root of their multinomial, D = 2080.
polyattn.feature_map @symmetric(%x: [64]) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %phi = power %h {degree = 2, symmetric} : [64]
  yield %phi : sym 2 [64]
}

// TSPOW: sorted pairs of whole blocks of 16, the authors' layout, D = 2560. Same scores.
polyattn.feature_map @tspow(%x: [64]) {
  %h = scale %x {factor = 0.35355339059327379} : [64]
  %phi = power %h {degree = 2, symmetric, block = 16} : [64]
  yield %phi : sym 2 block 16 [64]
}

polyattn.attention @power_tpow(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                               %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @tpow(%q) : tensor<?x?x?x64xf32> -> pow 2 [64]
  %phi_k = apply @tpow(%k) : tensor<?x?x?x64xf32> -> pow 2 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : pow 2 [64], pow 2 [64], [64]
  return %o : [64]
}

polyattn.attention @power(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                          %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @symmetric(%q) : tensor<?x?x?x64xf32> -> sym 2 [64]
  %phi_k = apply @symmetric(%k) : tensor<?x?x?x64xf32> -> sym 2 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [64], sym 2 [64], [64]
  return %o : [64]
}

polyattn.attention @power_tspow(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @tspow(%q) : tensor<?x?x?x64xf32> -> sym 2 block 16 [64]
  %phi_k = apply @tspow(%k) : tensor<?x?x?x64xf32> -> sym 2 block 16 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 block 16 [64], sym 2 block 16 [64], [64]
  return %o : [64]
}

// With a gate per token and key head, log g: what the authors train.
polyattn.attention @power_gated(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %log_gate: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @tspow(%q) : tensor<?x?x?x64xf32> -> sym 2 block 16 [64]
  %phi_k = apply @tspow(%k) : tensor<?x?x?x64xf32> -> sym 2 block 16 [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values decay %log_gate
      causal normalize <sum, eps = 1.0e-6>
      {gate_heads = #polyattn.gate_heads<kv>, grouping = #polyattn.grouping<block>}
    : sym 2 block 16 [64], sym 2 block 16 [64], [64], tensor<?x?x?xf32>
  return %o : [64]
}

// FPA's statement of it, without normalizer: sum over j <= i of <q_i, k_j>^p v_j, here p = 3,
// which keeps the sign of the score.
polyattn.feature_map @cube(%x: [16]) {
  %h = scale %x {factor = 0.5} : [16]
  %phi = power %h {degree = 3, symmetric} : [16]
  yield %phi : sym 3 [16]
}
polyattn.attention @power_p3(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                             %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @cube(%q) : tensor<?x?x?x16xf32> -> sym 3 [16]
  %phi_k = apply @cube(%k) : tensor<?x?x?x16xf32> -> sym 3 [16]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : sym 3 [16], sym 3 [16], [64]
  return %o : [64]
}
