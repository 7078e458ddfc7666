// LLoPS, learnable low-rank polynomial sketch (Definition 3.3): phi(x) is the element-wise
// product of p projections, with weights of their own for queries and keys.
// d = dv = 128, m = 256, the sizes of the paper's running-time figure.

polyattn.feature_map @llops(%x: [128], %theta1: 128x256, %theta2: 128x256) {
  %a = project %x, %theta1 : [128], 128x256
  %b = project %x, %theta2 : [128], 128x256
  %phi = hadamard %a, %b : [256], [256]
  yield %phi : [256]
}

// Degree 2. The scores may be negative: the paper's definition without the final square.
polyattn.attention @llops_p2(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q1: tensor<128x256xf32>, %theta_q2: tensor<128x256xf32>,
    %theta_k1: tensor<128x256xf32>, %theta_k2: tensor<128x256xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %phi_k = apply @llops(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
    : [256], [256], [128]
  return %o : [128]
}
