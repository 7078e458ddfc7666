// LLoPS, learnable low-rank polynomial sketch (Definition 3.3): phi(x) is the element-wise
// product of p projections, with weights of their own for queries and keys. There is no
// normalizer (equation 2). d = dv = 128, m = 256, the sizes of the paper's running-time figure.

// Degree 2. The scores may be negative: the paper's definition without the final square.
polyattn.attention @llops<d = 128, dv = 128, m = 256>(
    q, k: seq[d], v: seq[dv], theta_q1, theta_q2, theta_k1, theta_k2: weight[d, m]) {
  map phi(x, a, b) = project(x, a) * project(x, b)
  return attend(phi(q, theta_q1, theta_q2), phi(k, theta_k1, theta_k2), v) causal normalize none
}

// Degree 4 (appendix B.3).
polyattn.attention @llops_p4<d = 128, dv = 128, m = 256>(
    q, k: seq[d], v: seq[dv], theta_q1, theta_q2, theta_q3, theta_q4: weight[d, m],
    theta_k1, theta_k2, theta_k3, theta_k4: weight[d, m]) {
  map phi(x, a, b, c, e) = hadamard(project(x, a), project(x, b), project(x, c), project(x, e))
  return attend(phi(q, theta_q1, theta_q2, theta_q3, theta_q4),
                phi(k, theta_k1, theta_k2, theta_k3, theta_k4), v) causal normalize none
}

// Degree 2, rank 2: the sum over r of the products (equation 16).
polyattn.attention @llops_rank2<d = 128, dv = 128, m = 256>(
    q, k: seq[d], v: seq[dv], theta_q11, theta_q21, theta_q12, theta_q22: weight[d, m],
    theta_k11, theta_k21, theta_k12, theta_k22: weight[d, m]) {
  map phi(x, a1, b1, a2, b2) =
    project(x, a1) * project(x, b1) + project(x, a2) * project(x, b2)
  return attend(phi(q, theta_q11, theta_q21, theta_q12, theta_q22),
                phi(k, theta_k11, theta_k21, theta_k12, theta_k22), v) causal normalize none
}

// Another square makes the features non-negative (section 3.2, last paragraph), and so there is a
// normalizer.
polyattn.attention @llops_non_negative<d = 128, dv = 128, m = 256>(
    q, k: seq[d], v: seq[dv], theta_q1, theta_q2, theta_k1, theta_k2: weight[d, m]) {
  map phi(x, a, b) = (project(x, a) * project(x, b)) ** 2
  return attend(phi(q, theta_q1, theta_q2), phi(k, theta_k1, theta_k2), v)
      causal normalize sum(1e-6)
}

// Degree 2, every query sees every key; the mean keeps the sum's size independent of T.
polyattn.attention @llops_full<d = 128, dv = 128, m = 256>(
    q, k: seq[d], v: seq[dv], theta_q1, theta_q2, theta_k1, theta_k2: weight[d, m]) {
  map phi(x, a, b) = project(x, a) * project(x, b)
  return attend(phi(q, theta_q1, theta_q2), phi(k, theta_k1, theta_k2), v)
      full normalize none(reduce = mean)
}

// Degree 2 with a state before position 0 and after the last one. Without a normalizer there is
// no normalizer part.
polyattn.attention @llops_states<d = 128, dv = 128, m = 256>(
    q, k: seq[d], v: seq[dv], theta_q1, theta_q2, theta_k1, theta_k2: weight[d, m],
    state: state[m, dv]) {
  map phi(x, a, b) = project(x, a) * project(x, b)
  return attend(phi(q, theta_q1, theta_q2), phi(k, theta_k1, theta_k2), v) causal normalize none
      initial state final_state
}
