// Products of f32 sequences in bf16, and of bf16 sequences in f32.
polyattn.attention @rounded<d = 64>(q, k, v: seq[d]) -> (o) {
  return attend(sym(q, 2), sym(k, 2), v) causal normalize sum(1e-6) precision bf16
}

polyattn.attention @exact<d = 64>(q, k, v: seq[d] bf16) -> (o) {
  return attend(sym(q, 2), sym(k, 2), v) causal normalize sum(1e-6) precision f32
}

// One kernel computes both: what one of them keeps exact stays so.
polyattn.attention @one_of_two<d = 64>(q, k, v: seq[d]) -> (o, p) {
  o = attend(relu(q), relu(k), v) causal normalize none precision bf16
  p = attend(relu(q), relu(k), v) causal normalize none precision f32
  return o, p
}

// And what another says nothing of.
polyattn.attention @said_of_one<d = 64>(q, k, v: seq[d]) -> (o, p) {
  o = attend(relu(q), relu(k), v) causal normalize none precision bf16
  p = attend(relu(q), relu(k), v) causal normalize none
  return o, p
}
