// PolaFormer (Meng et al. 2025; a baseline of LLoPS): queries and keys are split by sign, r+ =
// relu(x)^p and r- = relu(-x)^p. Products of equal signs attend to one half of the value channels,
// products of opposite signs to the other half; each half has a denominator of its own.
// d = dv = 64, halves of 32.

// Equal signs, with the half of the values that belongs to them: [x+, x-] on both sides.
polyattn.attention @polaformer_same<d = 64, dv = 32>(q, k: seq[d], v: seq[dv]) {
  map polarity(x) = concat(relu(x) ** 3, relu(-x) ** 3)
  return attend(polarity(q), polarity(k), v) causal normalize sum(1e-6)
}

// Opposite signs, likewise: [x-, x+] on queries.
polyattn.attention @polaformer_opposite<d = 64, dv = 32>(q, k: seq[d], v: seq[dv]) {
  map polarity(x) = concat(relu(x) ** 3, relu(-x) ** 3)
  map swapped(x) = concat(relu(-x) ** 3, relu(x) ** 3)
  return attend(swapped(q), polarity(k), v) causal normalize sum(1e-6)
}

// Both, as a vision model has it: every query sees every key, numerators and denominators are
// means, the result is the two halves side by side. The authors' exponents are learned per head and
// channel, 1 + 4 sigmoid(w).
polyattn.attention @polaformer<d = 64, dv = 64>(q, k: seq[d], v: seq[dv], w: head_weight[d]) {
  map learned(x) = relu(x) ** (sigmoid(constant(0, width = d) + w) * 4 + 1)
  q_plus = learned(q)
  q_minus = learned(-q)
  keys = concat(learned(k), learned(-k))
  same = attend(concat(q_plus, q_minus), keys, v[:dv / 2]) full normalize sum(1e-6, reduce = mean)
  opposite = attend(concat(q_minus, q_plus), keys, v[dv / 2:]) full normalize sum(1e-6,
      reduce = mean)
  return concat(same, opposite)
}
