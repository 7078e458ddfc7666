// RetNet (Sun et al. 2023; primer): the identity with rotary positions, a constant decay per head,
// no normalizer. Keys carry the scale d^(-1/2); frequencies are an argument, one for each pair of
// neighbouring channels (torchscale's layout). Head h forgets at the rate 1 - 2^(-5-h).

// The 3B model's heads: d = 256, dv = 428. The decay of each head, as log g, is an argument.
polyattn.attention @retnet_3b<d = 256, dv = 428>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2], log_decay: head_decay) {
  map rotated(x) = rope(x, freqs, layout = interleaved)
  return attend(rotated(q), rotated(k / sqrt(d)), v)
      causal normalize none decay log_decay gate_heads kv
}

// Four heads of d = 64, dv = 128 with their decays written out.
polyattn.attention @retnet_4_heads<d = 64, dv = 128>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2]) {
  map rotated(x) = rope(x, freqs, layout = interleaved)
  return attend(rotated(q), rotated(k / sqrt(d)), v) causal normalize none
      decay_factors(1 - 2 ** -5, 1 - 2 ** -6, 1 - 2 ** -7, 1 - 2 ** -8) gate_heads kv
}
