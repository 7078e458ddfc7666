// Functions of each number of a query, beside keys that are as they come: what a row gathers says what
// the functions gave.

polyattn.attention @sine(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %a = sin %x : [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @cosine(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %a = cos %x : [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @gelu_erf(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %a = gelu %x {form = #polyattn.gelu_form<erf>} : [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @gelu_tanh(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %a = gelu %x {form = #polyattn.gelu_form<tanh>} : [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @odd_power(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %a = pow %x {exponent = 67.0} : [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @inverse_power(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %a = pow %x {exponent = -66.0} : [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
// An exponent for each element.
polyattn.attention @powers(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>, %e: tensor<8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %w = read %e : tensor<8xf32> -> 8
  %a = pow %x, %w : [8], 8
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @unit(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %a = l2_norm %x {eps = 1.0e-30} : [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
// Deviations from the mean, of rows that are zero, too.
polyattn.attention @layer(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %inside = layer_norm %x {eps = 1.0e-5, eps_place = #polyattn.eps_place<inside>} : [8]
  %outside = layer_norm %x {eps = 1.0e-5, eps_place = #polyattn.eps_place<outside>} : [8]
  %a = hadamard %inside, %outside : [8], [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
// A direction of any length with the length of another, and the other way round.
polyattn.attention @rescaled(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %one = constant {value = 1.0, width = 8}
  %small = l2_rescale %x, %one : [8], [8]
  %large = l2_rescale %one, %x : [8], [8]
  %unit = l2_norm %large {eps = 0.0} : [8]
  %a = hadamard %small, %unit : [8], [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
