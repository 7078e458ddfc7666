// Linear attention with the feature map relu(x) (primer, "Common Feature Maps"): cheaper than
// elu(x) + 1, but the sum of the scores may vanish, which eps guards. d = dv = 64.

polyattn.feature_map @rectified(%x: [64]) {
  %phi = relu %x : [64]
  yield %phi : [64]
}

polyattn.attention @relu(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>)
    -> (o: tensor<?x?x?x64xf32>) {
  %phi_q = apply @rectified(%q) : tensor<?x?x?x64xf32> -> [64]
  %phi_k = apply @rectified(%k) : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [64], [64], [64]
  return %o : [64]
}
