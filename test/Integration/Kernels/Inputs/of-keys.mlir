// Gradients of keys and values as attends: sums over the query heads that a key head serves.
polyattn.attention @anticausal_block(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>, %d_o: tensor<?x?x?x8xf32>)
    -> (d_q: tensor<?x?x?x16xf32>, d_k: tensor<?x?x?x16xf32>, d_v: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %d = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %dq = attend query %d key %c value %b causal normalize <none>
    {grouping = #polyattn.grouping<block>} : [8], [8], [16]
  %dk = attend query %c key %d value %a anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [8], [8], [16]
  %dv = attend query %b key %a value %d anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [16], [16], [8]
  return %dq, %dk, %dv : [16], [16], [8]
}

// Gates of a pair, and what is computed of a sum with the keys' own vectors.
polyattn.attention @gated_interleaved(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>, %d_o: tensor<?x?x?x8xf32>,
    %log_g: tensor<?x?x?xf32>, %w: tensor<?x16x4xf32>)
    -> (d_k: tensor<?x?x?x16xf32>, d_v: tensor<?x?x?x12xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %d = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %m = read %w : tensor<?x16x4xf32> -> 16x4
  %dk = attend query %c key %d value %a decay %log_g anticausal normalize <none>
    {grouping = #polyattn.grouping<interleaved>, of_keys} : [8], [8], [16], tensor<?x?x?xf32>
  %dv = attend query %b key %a value %d decay %log_g anticausal normalize <none>
    {grouping = #polyattn.grouping<interleaved>, of_keys} : [16], [16], [8], tensor<?x?x?xf32>
  %slope = sigmoid %b : [16]
  %x = hadamard %dk, %slope : [16], [16]
  %y = project %b, %m : [16], 16x4
  %z = concat %dv, %y : [8], [4]
  return %x, %z : [16], [8] + [4]
}

polyattn.attention @query_gates(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %d_o: tensor<?x?x?x8xf32>, %log_g: tensor<?xf32>)
    -> (d_v: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %d = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %dv = attend query %b key %a value %d decay %log_g anticausal normalize <none>
    {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>, of_keys}
    : [16], [16], [8], tensor<?xf32>
  return %dv : [8]
}

// Keys and queries have other numbers of positions.
polyattn.attention @full(
    %q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>, %d_o: tensor<?x?x?x8xf32>)
    -> (d_q: tensor<?x?x?x16xf32>, d_k: tensor<?x?x?x16xf32>, d_v: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %d = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %dq = attend query %d key %c value %b full normalize <none>
    {grouping = #polyattn.grouping<block>} : [8], [8], [16]
  %dk = attend query %c key %d value %a full normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [8], [8], [16]
  %dv = attend query %b key %a value %d full normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [16], [16], [8]
  return %dq, %dk, %dv : [16], [16], [8]
}

polyattn.attention @local_square(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %d_o: tensor<?x?x?x8xf32>)
    -> (d_v: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %d = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %aa = power 2 %a {symmetric} : [8]
  %bb = power 2 %b {symmetric} : [8]
  %dv = attend query %bb key %aa value %d local %bb, %aa anticausal normalize <none>
    {block = 32, grouping = #polyattn.grouping<block>, of_keys}
    : sym 2 [8], sym 2 [8], [8], sym 2 [8], sym 2 [8]
  return %dv : [8]
}

// A state that programs of a cluster share.
polyattn.attention @wide(
    %q: tensor<?x?x?x512xf32>, %k: tensor<?x?x?x512xf32>, %d_o: tensor<?x?x?x64xf32>)
    -> (d_v: tensor<?x?x?x64xf32>) {
  %a = read %q : tensor<?x?x?x512xf32> -> [512]
  %b = read %k : tensor<?x?x?x512xf32> -> [512]
  %d = read %d_o : tensor<?x?x?x64xf32> -> [64]
  %dv = attend query %b key %a value %d anticausal normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [512], [512], [64]
  return %dv : [64]
}
