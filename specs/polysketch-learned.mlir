// PolySketchFormer with learned sketches (Kacham et al. 2024, Algorithm 2 and appendix D): the tree
// of Algorithm 1 with its Gaussians replaced by small networks, shared by all heads, and a tanh
// that keeps every node within sqrt(r). p = 4, r = 32, d = dv = 64: one node of two networks below
// the tensor square. Biases and gains as in the authors' code (flax Dense and LayerNorm).

polyattn.attention @polysketch_learned<d = 64, dv = 64, r = 32, m = 8 * r>(
    q, k: seq[d], v: seq[dv], gamma, beta, gamma1_1, beta1_1: weight[d],
    w1_1: weight[d, m], b1_1: weight[m], w2_1: weight[m, r],
    b2_1, gamma2_1, beta2_1: weight[r], w3_1: weight[r, m], b3_1: weight[m],
    w4_1: weight[m, r], b4_1: weight[r], gamma1_2, beta1_2: weight[d],
    w1_2: weight[d, m], b1_2: weight[m], w2_2: weight[m, r],
    b2_2, gamma2_2, beta2_2: weight[r], w3_2: weight[r, m], b3_2: weight[m],
    w4_2: weight[m, r], b4_2: weight[r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  // Layer norm, dense 8r, gelu, dense r, layer norm, dense 8r, gelu, dense r.
  map net(x, gamma1, beta1, w1, b1, w2, b2, gamma2, beta2, w3, b3, w4, b4) {
    a = gelu(project(layer_norm(x, gamma1, beta1, eps = 1e-6), w1, b1), form = tanh)
    y = layer_norm(project(a, w2, b2), gamma2, beta2, eps = 1e-6)
    return project(gelu(project(y, w3, b3), form = tanh), w4, b4)
  }
  // sqrt(r) tanh(sqrt(1/r) f1 * f2), squared as a tensor.
  map sketch(x) {
    f1 = net(x, gamma1_1, beta1_1, w1_1, b1_1, w2_1, b2_1, gamma2_1, beta2_1, w3_1, b3_1, w4_1,
        b4_1)
    f2 = net(x, gamma1_2, beta1_2, w1_2, b1_2, w2_2, b2_2, gamma2_2, beta2_2, w3_2, b3_2, w4_2,
        b4_2)
    return power(tanh(f1 * f2 / sqrt(r)) * sqrt(r), 2)
  }
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1)
}

// Learned sketches, exact inside blocks of 1024 (section 3.2): the paper's best model.
polyattn.attention @polysketch_learned_local<d = 64, dv = 64, r = 32, m = 8 * r>(
    q, k: seq[d], v: seq[dv], gamma, beta, gamma1_1, beta1_1: weight[d],
    w1_1: weight[d, m], b1_1: weight[m], w2_1: weight[m, r],
    b2_1, gamma2_1, beta2_1: weight[r], w3_1: weight[r, m], b3_1: weight[m],
    w4_1: weight[m, r], b4_1: weight[r], gamma1_2, beta1_2: weight[d],
    w1_2: weight[d, m], b1_2: weight[m], w2_2: weight[m, r],
    b2_2, gamma2_2, beta2_2: weight[r], w3_2: weight[r, m], b3_2: weight[m],
    w4_2: weight[m, r], b4_2: weight[r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  // Layer norm, dense 8r, gelu, dense r, layer norm, dense 8r, gelu, dense r.
  map net(x, gamma1, beta1, w1, b1, w2, b2, gamma2, beta2, w3, b3, w4, b4) {
    a = gelu(project(layer_norm(x, gamma1, beta1, eps = 1e-6), w1, b1), form = tanh)
    y = layer_norm(project(a, w2, b2), gamma2, beta2, eps = 1e-6)
    return project(gelu(project(y, w3, b3), form = tanh), w4, b4)
  }
  // sqrt(r) tanh(sqrt(1/r) f1 * f2), squared as a tensor.
  map sketch(x) {
    f1 = net(x, gamma1_1, beta1_1, w1_1, b1_1, w2_1, b2_1, gamma2_1, beta2_1, w3_1, b3_1, w4_1,
        b4_1)
    f2 = net(x, gamma1_2, beta1_2, w1_2, b1_2, w2_2, b2_2, gamma2_2, beta2_2, w3_2, b3_2, w4_2,
        b4_2)
    return power(tanh(f1 * f2 / sqrt(r)) * sqrt(r), 2)
  }
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1) local(sym(x, 4), sym(y, 4))
      block 1024
}

// The same with blocks of 64.
polyattn.attention @polysketch_learned_local_b64<d = 64, dv = 64, r = 32, m = 8 * r>(
    q, k: seq[d], v: seq[dv], gamma, beta, gamma1_1, beta1_1: weight[d],
    w1_1: weight[d, m], b1_1: weight[m], w2_1: weight[m, r],
    b2_1, gamma2_1, beta2_1: weight[r], w3_1: weight[r, m], b3_1: weight[m],
    w4_1: weight[m, r], b4_1: weight[r], gamma1_2, beta1_2: weight[d],
    w1_2: weight[d, m], b1_2: weight[m], w2_2: weight[m, r],
    b2_2, gamma2_2, beta2_2: weight[r], w3_2: weight[r, m], b3_2: weight[m],
    w4_2: weight[m, r], b4_2: weight[r]) {
  map normal(x) = layer_norm(x, gamma, beta, eps = 1e-5)
  // Layer norm, dense 8r, gelu, dense r, layer norm, dense 8r, gelu, dense r.
  map net(x, gamma1, beta1, w1, b1, w2, b2, gamma2, beta2, w3, b3, w4, b4) {
    a = gelu(project(layer_norm(x, gamma1, beta1, eps = 1e-6), w1, b1), form = tanh)
    y = layer_norm(project(a, w2, b2), gamma2, beta2, eps = 1e-6)
    return project(gelu(project(y, w3, b3), form = tanh), w4, b4)
  }
  // sqrt(r) tanh(sqrt(1/r) f1 * f2), squared as a tensor.
  map sketch(x) {
    f1 = net(x, gamma1_1, beta1_1, w1_1, b1_1, w2_1, b2_1, gamma2_1, beta2_1, w3_1, b3_1, w4_1,
        b4_1)
    f2 = net(x, gamma1_2, beta1_2, w1_2, b1_2, w2_2, b2_2, gamma2_2, beta2_2, w3_2, b3_2, w4_2,
        b4_2)
    return power(tanh(f1 * f2 / sqrt(r)) * sqrt(r), 2)
  }
  x = normal(q)
  y = normal(k)
  return attend(sketch(x), sketch(y), v) causal normalize bias(1) local(sym(x, 4), sym(y, 4))
      block 64
}
