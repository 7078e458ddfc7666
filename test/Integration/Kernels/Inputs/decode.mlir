// States that live in pools, with what a row of them can be combined with.

polyattn.attention @plain(%q: tensor<?x?x?x24xf32>, %k: tensor<?x?x?x24xf32>, %v: tensor<?x?x?x20xf32>,
    %state: tensor<?x?x24x20xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x24x20xf32> in %state) slots %slots {
  %a = read %q : tensor<?x?x?x24xf32> -> [24]
  %b = read %k : tensor<?x?x?x24xf32> -> [24]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %o:2 = attend query %a key %b value %c initial %state causal normalize <none> {final_state}
    : [24], [24], [20], tensor<?x?x24x20xf32>
  return %o#0, %o#1 : [20], tensor<?x?x24x20xf32>
}

polyattn.attention @grouped(%q: tensor<?x?x?x24xf32>, %k: tensor<?x?x?x24xf32>, %v: tensor<?x?x?x20xf32>,
    %state: tensor<?x?x24x20xf32>, %norm: tensor<?x?x24xf32>,
    %slots: tensor<?xi32>, %first: tensor<?xi64>, %lengths: tensor<?xi32>)
    -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x24x20xf32> in %state,
        final_norm: tensor<?x?x24xf32> in %norm)
    first_position %first slots %slots lengths %lengths {
  %x = read %q : tensor<?x?x?x24xf32> -> [24]
  %y = read %k : tensor<?x?x?x24xf32> -> [24]
  %a = elu_plus_one %x : [24]
  %b = elu_plus_one %y : [24]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %o:3 = attend query %a key %b value %c initial %state initial_normalizer %norm
      causal normalize <sum, eps = 1.0e-6> {final_state, grouping = #polyattn.grouping<block>}
    : [24], [24], [20], tensor<?x?x24x20xf32>, tensor<?x?x24xf32>
  return %o#0, %o#1, %o#2 : [20], tensor<?x?x24x20xf32>, tensor<?x?x24xf32>
}

// Features with weights, a mean, and a decay for each query head, whose states are theirs.
polyattn.attention @gated(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x20xf32>,
    %g: tensor<?x?x?xf32>, %state: tensor<?x?x36x20xf32>, %norm: tensor<?x?x36xf32>,
    %slots: tensor<?xi64>, %first: tensor<?xi32>)
    -> (o: tensor<?x?x?x20xf32>, final_norm: tensor<?x?x36xf32> in %norm,
        final: tensor<?x?x36x20xf32> in %state)
    first_position %first slots %slots {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %aa = power 2 %a {symmetric} : [8]
  %bb = power 2 %b {symmetric} : [8]
  %o:3 = attend query %aa key %bb value %c decay %g initial %state initial_normalizer %norm
      causal normalize <sum, eps = 1.0e-6, reduce = mean>
      {final_state, gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<interleaved>}
    : sym 2 [8], sym 2 [8], [20], tensor<?x?x?xf32>, tensor<?x?x36x20xf32>, tensor<?x?x36xf32>
  return %o#0, %o#2, %o#1 : [20], tensor<?x?x36xf32>, tensor<?x?x36x20xf32>
}

// Projections, shared by heads and for each: many batches share what a call of one token reads of them.
polyattn.attention @projected(%q: tensor<?x?x?x24xf32>, %k: tensor<?x?x?x24xf32>, %v: tensor<?x?x?x20xf32>,
    %u: tensor<24x41xf32>, %w: tensor<?x24x41xf32>, %state: tensor<?x?x41x20xf32>,
    %norm: tensor<?x?x41xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x41x20xf32> in %state,
        final_norm: tensor<?x?x41xf32> in %norm) slots %slots {
  %x = read %q : tensor<?x?x?x24xf32> -> [24]
  %y = read %k : tensor<?x?x?x24xf32> -> [24]
  %shared = read %u : tensor<24x41xf32> -> 24x41
  %own = read %w : tensor<?x24x41xf32> -> 24x41
  %a = project %x, %shared : [24], 24x41
  %a1 = exp %a : [41]
  %b = project %y, %shared : [24], 24x41
  %b1 = exp %b : [41]
  %b2 = project %y, %own : [24], 24x41
  %b3 = sigmoid %b2 : [41]
  %b4 = hadamard %b1, %b3 : [41], [41]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %o:3 = attend query %a1 key %b4 value %c initial %state initial_normalizer %norm
      causal normalize <sum, eps = 1.0> {final_state, grouping = #polyattn.grouping<block>}
    : [41], [41], [20], tensor<?x?x41x20xf32>, tensor<?x?x41xf32>
  return %o#0, %o#1, %o#2 : [20], tensor<?x?x41x20xf32>, tensor<?x?x41xf32>
}

// Powers of vectors, rotated and not, and query heads that share the state.
polyattn.attention @powers(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x20xf32>,
    %f: tensor<4xf32>, %state: tensor<?x?x366x20xf32>, %norm: tensor<?x?x366xf32>,
    %slots: tensor<?xi32>, %first: tensor<?xi64>, %lengths: tensor<?xi32>)
    -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x366x20xf32> in %state,
        final_norm: tensor<?x?x366xf32> in %norm)
    first_position %first slots %slots lengths %lengths {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %freqs = read %f : tensor<4xf32> -> 4
  %a = rope %x, %freqs {layout = #polyattn.rope_layout<half>, dims = 8, scale = 1.0, offset = 0.0} : [8], 4
  %b = rope %y, %freqs {layout = #polyattn.rope_layout<half>, dims = 8, scale = 1.0, offset = 0.0} : [8], 4
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %aa = power 4 %a {symmetric} : [8]
  %bb = power 4 %b {symmetric} : [8]
  %xx = power 2 %x {symmetric} : [8]
  %yy = power 2 %y {symmetric} : [8]
  %phi_a = concat %xx, %aa : sym 2 [8], sym 4 [8]
  %phi_b = concat %yy, %bb : sym 2 [8], sym 4 [8]
  %o:3 = attend query %phi_a key %phi_b value %c initial %state initial_normalizer %norm
      causal normalize <bias, bias = 1.0> {final_state, grouping = #polyattn.grouping<block>}
    : sym 2 [8] + sym 4 [8], sym 2 [8] + sym 4 [8], [20], tensor<?x?x366x20xf32>, tensor<?x?x366xf32>
  return %o#0, %o#1, %o#2 : [20], tensor<?x?x366x20xf32>, tensor<?x?x366xf32>
}

// Without slots a state is updated in place all the same: row b is batch b's.
polyattn.attention @placed(%q: tensor<?x?x?x24xf32>, %k: tensor<?x?x?x24xf32>, %v: tensor<?x?x?x20xf32>,
    %state: tensor<?x?x24x20xf32>)
    -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x24x20xf32> in %state) {
  %a = read %q : tensor<?x?x?x24xf32> -> [24]
  %b = read %k : tensor<?x?x?x24xf32> -> [24]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %o:2 = attend query %a key %b value %c initial %state causal normalize <none>
      {final_state, grouping = #polyattn.grouping<block>}
    : [24], [24], [20], tensor<?x?x24x20xf32>
  return %o#0, %o#1 : [20], tensor<?x?x24x20xf32>
}

// Lengths need no state. The first kernels of short calls know them, too.
polyattn.attention @ragged(%q: tensor<?x?x?x24xf32>, %k: tensor<?x?x?x24xf32>, %v: tensor<?x?x?x20xf32>,
    %lengths: tensor<?xi64>)
    -> (o: tensor<?x?x?x20xf32>) lengths %lengths {
  %a = read %q : tensor<?x?x?x24xf32> -> [24]
  %b = read %k : tensor<?x?x?x24xf32> -> [24]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %aa = power 2 %a {symmetric} : [24]
  %bb = power 2 %b {symmetric} : [24]
  %o = attend query %aa key %bb value %c causal normalize <sum, eps = 1.0e-6>
    : sym 2 [24], sym 2 [24], [20]
  return %o : [20]
}

// Every token has its decay, of key heads, and a state is one of plain vectors: calls of one token take their own form.
polyattn.attention @gated_plain(%q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x40xf32>,
    %g: tensor<?x?x?xf32>, %state: tensor<?x?x12x40xf32>, %norm: tensor<?x?x12xf32>,
    %slots: tensor<?xi32>, %first: tensor<?xi32>)
    -> (o: tensor<?x?x?x40xf32>, final_norm: tensor<?x?x12xf32> in %norm,
        final: tensor<?x?x12x40xf32> in %state)
    first_position %first slots %slots {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x40xf32> -> [40]
  %aa = relu %a : [12]
  %bb = relu %b : [12]
  %o:3 = attend query %aa key %bb value %c decay %g initial %state initial_normalizer %norm
      causal normalize <sum, eps = 1.0>
      {final_state, grouping = #polyattn.grouping<interleaved>}
    : [12], [12], [40], tensor<?x?x?xf32>, tensor<?x?x12x40xf32>, tensor<?x?x12xf32>
  return %o#0, %o#2, %o#1 : [40], tensor<?x?x12xf32>, tensor<?x?x12x40xf32>
}
