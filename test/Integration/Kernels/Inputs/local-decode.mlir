// Attends with local vectors, from which decoding is derived.

// Query heads that share keys; blocks of 16.
polyattn.attention @local_grouped(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>)
    -> (o: tensor<?x?x?x12xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x12xf32> -> [12]
  %phi_a = power 2 %a {symmetric} : [8]
  %phi_b = power 2 %b {symmetric} : [8]
  %half_a = scale %a {factor = 0.5} : [8]
  %half_b = scale %b {factor = 0.5} : [8]
  %exact_a = power 2 %half_a {symmetric} : [8]
  %exact_b = power 2 %half_b {symmetric} : [8]
  %o = attend query %phi_a key %phi_b value %c local %exact_a, %exact_b
      causal normalize <bias, bias = 1.0> {block = 16, grouping = #polyattn.grouping<block>}
    : sym 2 [8], sym 2 [8], [12], sym 2 [8], sym 2 [8]
  return %o : [12]
}

// A decay for each token and query head, whose states are theirs; blocks of 5, shorter than any of a program.
polyattn.attention @local_gated(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>,
    %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x12xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x12xf32> -> [12]
  %phi_a = elu_plus_one %a : [8]
  %phi_b = elu_plus_one %b : [8]
  %exact_a = exp %a : [8]
  %exact_b = exp %b : [8]
  %o = attend query %phi_a key %phi_b value %c local %exact_a, %exact_b decay %g
      causal normalize <sum, eps = 1.0e-6>
      {block = 5, gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<interleaved>}
    : [8], [8], [12], [8], [8], tensor<?x?x?xf32>
  return %o : [12]
}

// Keys that know their positions, a mean, a decay of key heads; blocks of 40.
polyattn.attention @local_turned(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>,
    %f: tensor<4xf32>, %t: tensor<?x1x8xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x12xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %freqs = read %f : tensor<4xf32> -> 4
  %place = read %t : tensor<?x1x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x12xf32> -> [12]
  %z = add %y, %place : [8], [8]
  %a = rope %x, %freqs {layout = #polyattn.rope_layout<half>, dims = 8, scale = 1.0, offset = 0.0} : [8], 4
  %b = rope %z, %freqs {layout = #polyattn.rope_layout<half>, dims = 8, scale = 1.0, offset = 0.0} : [8], 4
  %o = attend query %x key %z value %c local %a, %b decay %g
      causal normalize <none, reduce = mean> {block = 40, grouping = #polyattn.grouping<block>}
    : [8], [8], [12], [8], [8], tensor<?x?x?xf32>
  return %o : [12]
}

// Nobody asks for rows; the state takes in whole blocks all the same.
polyattn.attention @local_states(%k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x12xf32>) -> (s: tensor<?x?x8x12xf32>) {
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x12xf32> -> [12]
  %exact_b = exp %b : [8]
  %o:2 = attend query %b key %b value %c local %exact_b, %exact_b
      causal normalize <none> {block = 16, final_state} : [8], [8], [12], [8], [8]
  return %o#1 : tensor<?x?x8x12xf32>
}
