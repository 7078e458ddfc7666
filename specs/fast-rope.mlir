// Attention with rotary positions and a polynomial for exp: the separable case of "Fast RoPE
// Attention" (Alman and Song 2025). The score is P(s), s = <R_i q, R_j k> / sqrt(d), where
// rotations of both sides turn the pair by its distance, R_i^T R_j = R_{j-i}. So P of it has
// features, and no position is more than a rotation of a vector.
//
// P is the polynomial of degree 2 or 4 with the least largest |P(s) / exp(s) - 1| on |s| <= 1, as
// the sum normalizer cancels common factors: `scripts/exp-polynomial --degree 4` gives its
// coefficients, whose roots stand here, 4.0e-2 and 5.0e-4 off. It is positive everywhere.
// docs/FastRoPE.md has the errors of outputs against softmax attention, and other bounds. Features:
// d = 8: 45 and 495, d = 16: 153 and 4845.

polyattn.attention @fast_rope_p4_d8<d = 8, dv = 64>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2]) {
  map exp_4(x) {
    h = rope(x, freqs, layout = interleaved) / sqrt(sqrt(d))
    return concat(0.99981393065800361, h * 0.99896883274586223, sym(h, 2) * 0.7091534742413127,
                  sym(h, 3) * 0.4201026459666049, sym(h, 4) * 0.19990726681145576)
  }
  return attend(exp_4(q), exp_4(k), v) causal normalize sum(0)
}

polyattn.attention @fast_rope_p2_d8<d = 8, dv = 64>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2]) {
  map exp_2(x) {
    h = rope(x, freqs, layout = interleaved) / sqrt(sqrt(d))
    return concat(1.0134232833691079, h * 1.0554046585996855, sym(h, 2) * 0.68509215015205138)
  }
  return attend(exp_2(q), exp_2(k), v) causal normalize sum(0)
}

polyattn.attention @fast_rope_p2_d16<d = 16, dv = 64>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2]) {
  map exp_2(x) {
    h = rope(x, freqs, layout = interleaved) / sqrt(sqrt(d))
    return concat(1.0134232833691079, h * 1.0554046585996855, sym(h, 2) * 0.68509215015205138)
  }
  return attend(exp_2(q), exp_2(k), v) causal normalize sum(0)
}

polyattn.attention @fast_rope_p4_d16<d = 16, dv = 64>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2]) {
  map exp_4(x) {
    h = rope(x, freqs, layout = interleaved) / sqrt(sqrt(d))
    return concat(0.99981393065800361, h * 0.99896883274586223, sym(h, 2) * 0.7091534742413127,
                  sym(h, 3) * 0.4201026459666049, sym(h, 4) * 0.19990726681145576)
  }
  return attend(exp_4(q), exp_4(k), v) causal normalize sum(0)
}

// Every query sees every key.
polyattn.attention @fast_rope_full<d = 8, dv = 64>(
    q, k: seq[d], v: seq[dv], freqs: weight[d / 2]) {
  map exp_4(x) {
    h = rope(x, freqs, layout = interleaved) / sqrt(sqrt(d))
    return concat(0.99981393065800361, h * 0.99896883274586223, sym(h, 2) * 0.7091534742413127,
                  sym(h, 3) * 0.4201026459666049, sym(h, 4) * 0.19990726681145576)
  }
  return attend(exp_4(q), exp_4(k), v) full normalize sum(0)
}
