// PolaFormer (Meng et al. 2025; a baseline of LLoPS): queries and keys are split by sign, r+ =
// relu(x)^p and r- = relu(-x)^p. Products of equal signs attend to one half of the value channels,
// products of opposite signs to the other half; each half has a denominator of its own.
// d = dv = 64, halves of 32.

// [x+, x-] on keys, and on queries for products of equal signs.
polyattn.feature_map @polarity(%x: [64]) {
  %minus = scale %x {factor = -1.0} : [64]
  %r = relu %x : [64]
  %s = relu %minus : [64]
  %plus_p = pow %r {exponent = 3.0} : [64]
  %minus_p = pow %s {exponent = 3.0} : [64]
  %phi = concat %plus_p, %minus_p : [64], [64]
  yield %phi : [64] + [64]
}
// [x-, x+] on queries for products of opposite signs.
polyattn.feature_map @swapped(%x: [64]) {
  %minus = scale %x {factor = -1.0} : [64]
  %r = relu %x : [64]
  %s = relu %minus : [64]
  %plus_p = pow %r {exponent = 3.0} : [64]
  %minus_p = pow %s {exponent = 3.0} : [64]
  %phi = concat %minus_p, %plus_p : [64], [64]
  yield %phi : [64] + [64]
}

// The authors' exponents are learned per head and channel, 1 + 4 sigmoid(w).
polyattn.feature_map @learned_power(%x: [64], %w: 64) {
  %zero = constant {value = 0.0, width = 64}
  %w_vector = add_vec %zero, %w : [64], 64
  %gate = sigmoid %w_vector : [64]
  %gate4 = scale %gate {factor = 4.0} : [64]
  %exponents = add_const %gate4 {value = 1.0} : [64]
  %r = relu %x : [64]
  %phi = pow %r, %exponents : [64], [64]
  yield %phi : [64]
}
polyattn.feature_map @negated(%x: [64]) {
  %phi = scale %x {factor = -1.0} : [64]
  yield %phi : [64]
}

// Equal signs, with the half of the values that belongs to them.
polyattn.attention @polaformer_same(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>)
    -> (o: tensor<?x?x?x32xf32>) {
  %phi_q = apply @polarity(%q) : tensor<?x?x?x64xf32> -> [64] + [64]
  %phi_k = apply @polarity(%k) : tensor<?x?x?x64xf32> -> [64] + [64]
  %values = read %v : tensor<?x?x?x32xf32> -> [32]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64] + [64], [64] + [64], [32]
  return %o : [32]
}

// Opposite signs, likewise.
polyattn.attention @polaformer_opposite(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>)
    -> (o: tensor<?x?x?x32xf32>) {
  %phi_q = apply @swapped(%q) : tensor<?x?x?x64xf32> -> [64] + [64]
  %phi_k = apply @polarity(%k) : tensor<?x?x?x64xf32> -> [64] + [64]
  %values = read %v : tensor<?x?x?x32xf32> -> [32]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64] + [64], [64] + [64], [32]
  return %o : [32]
}

// Both, as a vision model has it: every query sees every key, numerators and denominators are
// means, the result is the two halves side by side.
polyattn.attention @polaformer(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %w: tensor<?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %minus_q = apply @negated(%q) : tensor<?x?x?x64xf32> -> [64]
  %minus_k = apply @negated(%k) : tensor<?x?x?x64xf32> -> [64]
  %q_plus = apply @learned_power(%q, %w) : tensor<?x?x?x64xf32>, tensor<?x64xf32> -> [64]
  %q_minus = apply @learned_power(%minus_q, %w) : [64], tensor<?x64xf32> -> [64]
  %k_plus = apply @learned_power(%k, %w) : tensor<?x?x?x64xf32>, tensor<?x64xf32> -> [64]
  %k_minus = apply @learned_power(%minus_k, %w) : [64], tensor<?x64xf32> -> [64]
  %same_q = concat %q_plus, %q_minus : [64], [64]
  %opposite_q = concat %q_minus, %q_plus : [64], [64]
  %phi_k = concat %k_plus, %k_minus : [64], [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %v1 = select %values {indices = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                             15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                                             28, 29, 30, 31>} : [64]
  %v2 = select %values {indices = array<i64: 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
                                             45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57,
                                             58, 59, 60, 61, 62, 63>} : [64]
  %same = attend query %same_q key %phi_k value %v1
      full normalize <sum, eps = 1.0e-6, reduce = mean>
      {grouping = #polyattn.grouping<block>}
    : [64] + [64], [64] + [64], [32]
  %opposite = attend query %opposite_q key %phi_k value %v2
      full normalize <sum, eps = 1.0e-6, reduce = mean>
      {grouping = #polyattn.grouping<block>}
    : [64] + [64], [64] + [64], [32]
  %o = concat %same, %opposite : [32], [32]
  return %o : [32] + [32]
}
