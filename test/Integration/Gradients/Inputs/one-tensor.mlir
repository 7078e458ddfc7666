// Queries, keys and values that are projections of one sequence.
polyattn.attention @projected(
    %x: tensor<?x?x?x16xf32>, %wq: tensor<16x8xf32>, %wk: tensor<16x8xf32>, %wv: tensor<16x12xf32>)
    -> (o: tensor<?x?x?x12xf32>) {
  %row = read %x : tensor<?x?x?x16xf32> -> [16]
  %a = read %wq : tensor<16x8xf32> -> 16x8
  %b = read %wk : tensor<16x8xf32> -> 16x8
  %c = read %wv : tensor<16x12xf32> -> 16x12
  %q = project %row, %a : [16], 16x8
  %k = project %row, %b : [16], 16x8
  %v = project %row, %c : [16], 16x12
  %phi_q = elu_plus_one %q : [8]
  %phi_k = elu_plus_one %k : [8]
  %o = attend query %phi_q key %phi_k value %v causal normalize <sum, eps = 1.0e-6> : [8], [8], [12]
  return %o : [12]
}

// One weight for both sides, and scores that are squares of products.
polyattn.attention @shared_weight(
    %x: tensor<?x?x?x16xf32>, %w: tensor<?x16x8xf32>, %v: tensor<?x?x?x24xf32>)
    -> (o: tensor<?x?x?x24xf32>) {
  %row = read %x : tensor<?x?x?x16xf32> -> [16]
  %a = read %w : tensor<?x16x8xf32> -> 16x8
  %p = project %row, %a : [16], 16x8
  %phi = power 2 %p : [8]
  %values = read %v : tensor<?x?x?x24xf32> -> [24]
  %o = attend query %phi key %phi value %values causal normalize <bias, bias = 1.0>
      {grouping = #polyattn.grouping<block>} : pow 2 [8], pow 2 [8], [24]
  return %o : [24]
}

// Every row sees the keys before it, those after it and all of them; a gate is computed from the
// query. The three have kernels of their own.
polyattn.attention @three_masks(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x16xf32>)
    -> (o: tensor<?x?x?x33xf32>) {
  %row = read %q : tensor<?x?x?x16xf32> -> [16]
  %key = read %k : tensor<?x?x?x16xf32> -> [16]
  %values = read %v : tensor<?x?x?x16xf32> -> [16]
  %phi_q = elu_plus_one %row : [16]
  %phi_k = elu_plus_one %key : [16]
  %before = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  %all = attend query %phi_q key %phi_k value %values full normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  %after = attend query %phi_q key %phi_k value %values anticausal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  %gate = sigmoid %row : [16]
  %gated = hadamard %before, %gate : [16], [16]
  %far = tanh %gated : [16]
  %both = add %gated, %after : [16], [16]
  %length = squared_norm %all : [16]
  %near = hadamard %far, %all : [16], [16]
  %o = concat %both, %near, %length : [16], [16], [1]
  return %o : [16] + [16] + [1]
}

polyattn.attention @both_masks(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x16xf32>)
    -> (o: tensor<?x?x?x16xf32>) {
  %row = read %q : tensor<?x?x?x16xf32> -> [16]
  %key = read %k : tensor<?x?x?x16xf32> -> [16]
  %values = read %v : tensor<?x?x?x16xf32> -> [16]
  %phi_q = elu_plus_one %row : [16]
  %phi_k = elu_plus_one %key : [16]
  %before = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  %all = attend query %phi_q key %phi_k value %values full normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  %gate = sigmoid %row : [16]
  %gated = hadamard %before, %gate : [16], [16]
  %o = add %gated, %all : [16], [16]
  return %o : [16]
}
