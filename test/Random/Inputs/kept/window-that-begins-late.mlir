// A window of keys of zeros stood for no keys in sequences that begin at a later position; their scores counted.
// case: B=1 T=10 Tk=10 H=2 Hkv=1 N=0 seed=173 inputs=normal padded=0 threads=1 segments=0 invariant=0 direction=decode state_every=0 calls= wrt= accumulate=0 tile=0 invalid=0 targets=tile,x86-64,emulator-sm_80,emulator-sm_90
polyattn.attention @attention(%q0: tensor<?x?x?x4xf32>, %k1: tensor<?x?x?x4xf32>, %v2: tensor<?x?x?x4xf32>, %w3: tensor<4xf32>, %first18: tensor<?xi64>)
    -> (out17: tensor<?x?x?x4xf32>) first_position %first18 {
  %r4 = read %q0 : tensor<?x?x?x4xf32> -> [4]
  %wr7 = read %w3 : tensor<4xf32> -> 4
  %p8 = add_vec %r4, %wr7 : [4], 4
  %r9 = read %k1 : tensor<?x?x?x4xf32> -> [4]
  %p13 = add_vec %r9, %wr7 : [4], 4
  %r14 = read %v2 : tensor<?x?x?x4xf32> -> [4]
  %o16 = attend query %p8 key %p13 value %r14 causal normalize <bias, bias = 1.000000e-03> {signed_scores, window = 33 : i64, grouping = #polyattn.grouping<block>} : [4], [4], [4]
  return %o16 : [4]
}
