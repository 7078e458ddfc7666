// Linear attention with the feature map relu(x) (primer, "Common Feature Maps"): cheaper than
// elu(x) + 1, but the sum of the scores may vanish, which eps guards. d = dv = 64.

polyattn.attention @relu<d = 64, dv = 64>(q, k: seq[d], v: seq[dv]) {
  return attend(relu(q), relu(k), v) causal normalize sum(1e-6)
}
