// Performer, FAVOR+ (Choromanski et al. 2020; primer): positive random features
//
//   phi(x) = exp(w_i x - |x|^2 / 2) / sqrt(m)
//
// for m orthogonal Gaussian directions w_i, the columns of an argument; <phi(q), phi(k)> estimates
// exp(<q, k> / sqrt d) without bias, x scaled by d^(-1/4). d = dv = 64, m = 256.

polyattn.attention @performer<d = 64, dv = 64, m = 256>(q, k: seq[d], v: seq[dv], w: weight[d, m]) {
  map favor(x) {
    h = x * d ** -0.25
    return exp(project(h, w) + squared_norm(h) * -0.5) / sqrt(m)
  }
  return attend(favor(q), favor(k), v) causal normalize sum(1e-6)
}

// With the stabilizer: the largest w_i x is subtracted in the exponent. On a query that is a factor
// of its whole row, which the normalizer cancels; on a key it would weigh keys against each other,
// and a maximum over all positions would look into the future, so keys have none.
polyattn.attention @performer_stabilized<d = 64, dv = 64, m = 256>(
    q, k: seq[d], v: seq[dv], w: weight[d, m]) {
  map favor(x) {
    h = x * d ** -0.25
    return exp(project(h, w) + squared_norm(h) * -0.5) / sqrt(m)
  }
  map stabilized(x) {
    h = x * d ** -0.25
    wx = project(h, w)
    return exp(add(wx, squared_norm(h) * -0.5, -max(wx))) / sqrt(m)
  }
  return attend(stabilized(q), favor(k), v) causal normalize sum(1e-6)
}

// The authors' code adds 1e-6 to every feature, on both sides. Their denominator: 2e-6 is added
// where it
// is 1e-6 or smaller in magnitude.
polyattn.attention @performer_guarded<d = 64, dv = 64, m = 256>(
    q, k: seq[d], v: seq[dv], w: weight[d, m]) {
  map favor(x) {
    h = x * d ** -0.25
    return (exp(project(h, w) + squared_norm(h) * -0.5) + 1e-6) / sqrt(m)
  }
  return attend(favor(q), favor(k), v) causal normalize sum(0, guard_below = 1e-6, guard_add = 2e-6)
}
