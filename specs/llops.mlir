// LLoPS, learnable low-rank polynomial sketch (Definition 3.3): phi(x) is the element-wise
// product of p projections, with weights of their own for queries and keys. There is no
// normalizer (equation 2). d = dv = 128, m = 256, the sizes of the paper's running-time figure.

polyattn.feature_map @llops(%x: [128], %theta1: 128x256, %theta2: 128x256) {
  %a = project %x, %theta1 : [128], 128x256
  %b = project %x, %theta2 : [128], 128x256
  %phi = hadamard %a, %b : [256], [256]
  yield %phi : [256]
}

polyattn.feature_map @llops_4(%x: [128], %theta1: 128x256, %theta2: 128x256,
                              %theta3: 128x256, %theta4: 128x256) {
  %a = project %x, %theta1 : [128], 128x256
  %b = project %x, %theta2 : [128], 128x256
  %c = project %x, %theta3 : [128], 128x256
  %d = project %x, %theta4 : [128], 128x256
  %phi = hadamard %a, %b, %c, %d : [256], [256], [256], [256]
  yield %phi : [256]
}

// Equation 16: rank t = 2, the sum over r of the products.
polyattn.feature_map @llops_t2(%x: [128], %theta11: 128x256, %theta21: 128x256,
                               %theta12: 128x256, %theta22: 128x256) {
  %a1 = project %x, %theta11 : [128], 128x256
  %b1 = project %x, %theta21 : [128], 128x256
  %a2 = project %x, %theta12 : [128], 128x256
  %b2 = project %x, %theta22 : [128], 128x256
  %r1 = hadamard %a1, %b1 : [256], [256]
  %r2 = hadamard %a2, %b2 : [256], [256]
  %phi = add %r1, %r2 : [256], [256]
  yield %phi : [256]
}

// Section 3.2, last paragraph: another square makes the features non-negative.
polyattn.feature_map @llops_squared(%x: [128], %theta1: 128x256, %theta2: 128x256) {
  %a = project %x, %theta1 : [128], 128x256
  %b = project %x, %theta2 : [128], 128x256
  %ab = hadamard %a, %b : [256], [256]
  %phi = pow %ab {exponent = 2.0} : [256]
  yield %phi : [256]
}

// Degree 2. The scores may be negative: the paper's definition without the final square.
polyattn.attention @llops_p2(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q1: tensor<128x256xf32>, %theta_q2: tensor<128x256xf32>, %theta_k1: tensor<128x256xf32>,
    %theta_k2: tensor<128x256xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %phi_k = apply @llops(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// Degree 4 (appendix B.3).
polyattn.attention @llops_p4(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q1: tensor<128x256xf32>, %theta_q2: tensor<128x256xf32>, %theta_q3: tensor<128x256xf32>,
    %theta_q4: tensor<128x256xf32>, %theta_k1: tensor<128x256xf32>, %theta_k2: tensor<128x256xf32>,
    %theta_k3: tensor<128x256xf32>, %theta_k4: tensor<128x256xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops_4(%q, %theta_q1, %theta_q2, %theta_q3, %theta_q4)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>,
      tensor<128x256xf32> -> [256]
  %phi_k = apply @llops_4(%k, %theta_k1, %theta_k2, %theta_k3, %theta_k4)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>,
      tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// Degree 2, rank 2.
polyattn.attention @llops_rank2(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q11: tensor<128x256xf32>, %theta_q21: tensor<128x256xf32>,
    %theta_q12: tensor<128x256xf32>, %theta_q22: tensor<128x256xf32>,
    %theta_k11: tensor<128x256xf32>, %theta_k21: tensor<128x256xf32>,
    %theta_k12: tensor<128x256xf32>, %theta_k22: tensor<128x256xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops_t2(%q, %theta_q11, %theta_q21, %theta_q12, %theta_q22)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>,
      tensor<128x256xf32> -> [256]
  %phi_k = apply @llops_t2(%k, %theta_k11, %theta_k21, %theta_k12, %theta_k22)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>,
      tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// Non-negative features, and so a normalizer.
polyattn.attention @llops_non_negative(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q1: tensor<128x256xf32>, %theta_q2: tensor<128x256xf32>, %theta_k1: tensor<128x256xf32>,
    %theta_k2: tensor<128x256xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops_squared(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %phi_k = apply @llops_squared(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// Degree 2 stored in bf16: accumulation and state stay f32.
polyattn.attention @llops_bf16(
    %q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
    %theta_q1: tensor<128x256xbf16>, %theta_q2: tensor<128x256xbf16>,
    %theta_k1: tensor<128x256xbf16>, %theta_k2: tensor<128x256xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %phi_q = apply @llops(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xbf16>, tensor<128x256xbf16>, tensor<128x256xbf16> -> [256]
  %phi_k = apply @llops(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xbf16>, tensor<128x256xbf16>, tensor<128x256xbf16> -> [256]
  %values = read %v : tensor<?x?x?x128xbf16> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// Degree 2 stored in f16.
polyattn.attention @llops_f16(
    %q: tensor<?x?x?x128xf16>, %k: tensor<?x?x?x128xf16>, %v: tensor<?x?x?x128xf16>,
    %theta_q1: tensor<128x256xf16>, %theta_q2: tensor<128x256xf16>, %theta_k1: tensor<128x256xf16>,
    %theta_k2: tensor<128x256xf16>)
    -> (o: tensor<?x?x?x128xf16>) {
  %phi_q = apply @llops(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xf16>, tensor<128x256xf16>, tensor<128x256xf16> -> [256]
  %phi_k = apply @llops(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xf16>, tensor<128x256xf16>, tensor<128x256xf16> -> [256]
  %values = read %v : tensor<?x?x?x128xf16> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// Degree 2, every query sees every key; the mean keeps the sum's size independent of T.
polyattn.attention @llops_full(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q1: tensor<128x256xf32>, %theta_q2: tensor<128x256xf32>, %theta_k1: tensor<128x256xf32>,
    %theta_k2: tensor<128x256xf32>)
    -> (o: tensor<?x?x?x128xf32>) {
  %phi_q = apply @llops(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %phi_k = apply @llops(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o = attend query %phi_q key %phi_k value %values
      full normalize <none, reduce = mean>
      {grouping = #polyattn.grouping<block>}
    : [256], [256], [128]
  return %o : [128]
}

// Degree 2 with a state before position 0 and after the last one. Without a normalizer there is
// no normalizer part.
polyattn.attention @llops_states(
    %q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>,
    %theta_q1: tensor<128x256xf32>, %theta_q2: tensor<128x256xf32>, %theta_k1: tensor<128x256xf32>,
    %theta_k2: tensor<128x256xf32>, %state: tensor<?x?x256x128xf32>)
    -> (o: tensor<?x?x?x128xf32>, final: tensor<?x?x256x128xf32>) {
  %phi_q = apply @llops(%q, %theta_q1, %theta_q2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %phi_k = apply @llops(%k, %theta_k1, %theta_k2)
    : tensor<?x?x?x128xf32>, tensor<128x256xf32>, tensor<128x256xf32> -> [256]
  %values = read %v : tensor<?x?x?x128xf32> -> [128]
  %o:2 = attend query %phi_q key %phi_k value %values initial %state
      causal normalize <none>
      {final_state, grouping = #polyattn.grouping<block>}
    : [256], [256], [128], tensor<?x?x256x128xf32>
  return %o#0, %o#1 : [128], tensor<?x?x256x128xf32>
}
