// Every construct of the short form, as the ops that it stands for.
// RUN: polyattn-opt %s | FileCheck %s
// RUN: polyattn-opt %s --print-short | polyattn-opt | FileCheck %s
// RUN: polyattn-opt %s --mlir-print-op-generic | polyattn-opt | FileCheck %s
// RUN: polyattn-opt %s --print-short | FileCheck %s --check-prefix=SHORT

// CHECK-LABEL: polyattn.attention @llops(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %a: tensor<8x16xf32>, %b: tensor<8x16xf32>) -> (o: tensor<?x?x?x4xf32>)
// CHECK: %[[Q:.*]] = read %q
// CHECK: %[[A:.*]] = read %a
// CHECK: %[[B:.*]] = read %b
// CHECK: %[[QA:.*]] = project %[[Q]], %[[A]] : [8], 8x16
// CHECK: %[[QB:.*]] = project %[[Q]], %[[B]] : [8], 8x16
// CHECK: %[[PHI:.*]] = hadamard %[[QA]], %[[QB]]
// CHECK: %[[V:.*]] = read %v
// CHECK: attend query %[[PHI]] key %{{.*}} value %[[V]] causal normalize <none> {grouping = block} : [16], [16], [4]
// SHORT-LABEL: polyattn.attention @llops(q, k: seq[8], v: seq[4], a, b: weight[8, 16]) {
// SHORT-NEXT: read q, a, b
// SHORT-NEXT: x0 = project(q, a)
// SHORT: return attend(x2, x5, v) causal normalize none
// SHORT-NEXT: }
polyattn.attention @llops<d = 8, dv = d / 2, m = 2 * d>(q, k: seq[d], v: seq[dv], a, b: weight[d, m]) {
  map phi(x, a, b) = project(x, a) * project(x, b)
  return attend(phi(q, a, b), phi(k, a, b), v) causal normalize none
}

// CHECK-LABEL: @arguments(
// CHECK-SAME: %q: tensor<?x?x?x8xbf16>, %k: tensor<?x?x?x8xbf16>, %v: tensor<?x?x?x8xbf16>,
// CHECK-SAME: %w: tensor<8xf32>, %u: tensor<8x8xbf16>, %hw: tensor<?x8xf32>, %hm: tensor<?x8x8xbf16>,
// CHECK-SAME: %t: tensor<?x1x8xf32>, %ht: tensor<?x?x8xbf16>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x8x8xf32>,
// CHECK-SAME: %z: tensor<?x?x8xf32>, %first: tensor<?xi64>, %rows: tensor<?xi32>
// CHECK-SAME: -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x8x8xf32> in %s, z_after: tensor<?x?x8xf32> in %z)
// CHECK-SAME: first_position %first slots %rows
// SHORT: (q, k, v: seq[8] bf16, w: weight[8], u: weight[8, 8] bf16, hw: head_weight[8], hm: head_weight[8, 8] bf16, t: table[8], ht: head_table[8] bf16, g: decay, s: state[8, 8], z: state_normalizer[8], first: first_position, rows: slots i32) -> (o: seq[8], final in s, z_after in z) {
polyattn.attention @arguments(q, k, v: seq[8] bf16, w: weight[8], u: weight[8, 8] bf16, hw: head_weight[8],
    hm: head_weight[8, 8] bf16, t: table[8], ht: head_table[8] bf16, g: decay, s: state[8, 8], z: state_normalizer[8],
    first: first_position, rows: slots i32) -> (o: seq[8] f32, final in s, z_after in z) {
  x = exp(project(project(q * t * ht * w * hw, u), hm))
  return attend(x, exp(k), v) causal normalize sum(0) decay g initial s initial_normalizer z final_state
}

// CHECK-LABEL: @more_arguments
// CHECK-SAME: %g: tensor<?xf32>, %n: tensor<?xi64>) -> (o: tensor<?x?x?x8xf16>) lengths %n
// SHORT: g: head_decay, n: lengths) {
polyattn.attention @more_arguments(q, k, v: seq[8] f16, g: head_decay, n: lengths) {
  return attend(q, k, v) causal normalize none decay g
}
// CHECK-LABEL: @packed
// CHECK-SAME: packed %offsets
polyattn.attention @packed(q, k, v: seq[8], offsets: packed i32) {
  return attend(q, k, v) full normalize none
}

// CHECK-LABEL: @operators
// CHECK: %[[Q:.*]] = read %q
// CHECK: scale %[[Q]] {factor = 2.5
// CHECK: scale %[[Q]] {factor = 2.5
// CHECK: scale %[[Q]] {factor = 0.25
// CHECK: scale %[[Q]] {factor = -1.0
// CHECK: add_const %[[Q]] {value = 1.0
// CHECK: add_const %[[Q]] {value = -1.0
// CHECK: %[[M:.*]] = scale %[[Q]] {factor = -1.0
// CHECK: add_const %[[M]] {value = 1.0
// CHECK: %[[K:.*]] = read %k
// CHECK: hadamard %[[Q]], %[[K]]
// CHECK: add %[[Q]], %[[K]]
// CHECK: %[[MK:.*]] = scale %[[K]] {factor = -1.0
// CHECK: add %[[Q]], %[[MK]]
// CHECK: %[[IK:.*]] = pow %[[K]] {exponent = -1.0
// CHECK: hadamard %[[Q]], %[[IK]]
// CHECK: pow %[[Q]] {exponent = -0.5
// CHECK: pow %[[Q]], %[[K]]
// CHECK: %[[W:.*]] = read %w
// CHECK: pow %[[Q]], %[[W]]
// CHECK: mul_vec %[[Q]], %[[W]]
// CHECK: mul_vec %[[Q]], %[[W]]
// CHECK: add_vec %[[Q]], %[[W]]
// CHECK: div_vec %[[Q]], %[[W]]
// CHECK: %[[N:.*]] = scale %[[Q]] {factor = -1.0
// CHECK: %[[NW:.*]] = add_vec %[[N]], %[[W]]
// CHECK: scale %[[NW]] {factor = -1.0
// CHECK: %[[I:.*]] = pow %[[Q]] {exponent = -1.0
// CHECK: scale %[[I]] {factor = 2.0
// CHECK: %[[S:.*]] = pow %[[Q]] {exponent = 2.0
// CHECK: scale %[[S]] {factor = -1.0
// CHECK: add_const %{{.*}} {value = 1.0e-6
// CHECK: add_const %{{.*}} {value = 250000.0
// SHORT-LABEL: @operators
// SHORT: = q * 2.5
// SHORT: = q * 0.25
// SHORT: = -q
// SHORT: = q - 1
// SHORT: = q ** -0.5
// SHORT: + 1e-6
// SHORT: + 250000
polyattn.attention @operators<d = 4>(q, k, v: seq[d], w: weight[d]) {
  a0 = q * 2.5
  a1 = 2.5 * q
  a2 = q / d
  a3 = -q
  a4 = q + 1
  a5 = q - 1
  a6 = 1 - q
  a7 = q * k
  a8 = q + k
  a9 = q - k
  b0 = q / k
  b1 = q ** -0.5
  b2 = q ** k
  b3 = q ** w
  b4 = q * w
  b5 = w * q
  b6 = q + w
  b7 = q / w
  b8 = q - w
  b9 = 2 / q
  c0 = -q ** 2 // as in Python: -(q ** 2)
  c1 = k + 1e-6 + 2.5E+5
  return attend(q, k, v) causal normalize none
}

// CHECK-LABEL: @numbers
// CHECK: scale %{{.*}} {factor = 0.35355339059327373
// CHECK: scale %{{.*}} {factor = 9.0
// CHECK: constant {value = 0.0, width = 4
polyattn.attention @numbers<d = 8>(q, k, v: seq[d]) {
  half = d / 2
  a = q / sqrt(d)
  b = q * (1 + 2 ** 3)
  c = constant(0, width = half)
  return attend(q, k, v) causal normalize none
}

// CHECK-LABEL: @selections
// CHECK: select %{{.*}} {indices = array<i64: 3>}
// CHECK: select %{{.*}} {indices = array<i64: 7>}
// CHECK: select %{{.*}} {indices = array<i64: 0, 1, 2>}
// CHECK: select %{{.*}} {indices = array<i64: 6, 7>}
// CHECK: select %{{.*}} {indices = array<i64: 7, 0, 1, 2, 3, 4, 5, 6>}
// CHECK: select %{{.*}} {indices = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 2>}
// SHORT: = q[3]
// SHORT: = q[0:3]
// SHORT: = q[7, 0:7]
polyattn.attention @selections<d = 8>(q, k, v: seq[d]) {
  a = q[3]
  b = q[-1]
  c = q[:3]
  e = q[d - 2:]
  f = q[-1, 0:-1]
  g = q[:, 2]
  return attend(q, k, v) causal normalize none
}

// CHECK-LABEL: @functions
// CHECK: layer_norm %{{[^,]*}} {eps = {{.*}}, eps_place = inside} : [8]
// CHECK: layer_norm %{{.*}}, %{{.*}}, %{{.*}} {eps = {{.*}}, eps_place = outside} : [8], 8, 8
// CHECK: gelu %{{.*}} {form = tanh}
// CHECK: softmax %{{.*}} {groups = 1
// CHECK: softmax %{{.*}} {groups = 2
// CHECK: rope %{{.*}} {dims = 8, layout = half, offset = 0.0, scale = 1.0} : [8], 4
// CHECK: rope %{{.*}} {dims = 8, inverse, layout = interleaved, offset = 2.0, scale = 0.5}
// CHECK: relative %{{.*}} {beyond = last, log} : 8
// CHECK: relative %{{.*}} {beyond = zero} : 8
// CHECK: relative %{{.*}} {beyond = error} : 8
// CHECK: clamp_min %{{.*}} {value = 0.1
// CHECK: power 2 %{{.*}} {symmetric}
// CHECK: power 3 %{{.*}} {abs, block = 4, symmetric}
// CHECK: power 2 %{{.*}} : [8]
// CHECK: triu %{{.*}} {weights = sqrt2} : [8], [8]
// CHECK: project %{{.*}}, %{{.*}}, %{{.*}} : [8], 8x8, 8
// CHECK: project %{{.*}} {transposed}
// CHECK: weight_product %{{.*}} : 8x8, 8x8
// CHECK: constant {value = 1.0, width = 1
// CHECK: concat %{{.*}} : [1], [8]
// CHECK: hadamard %{{.*}}, %{{.*}}, %{{.*}} : [8], [8], [8]
// CHECK: scatter %{{.*}} {indices = array<i64: 0, 2, 2, 0, 1, 2, 3, 4>, width = 9
// SHORT: = layer_norm(q, eps = 0.001)
// SHORT: = layer_norm(q, w, w, eps = 0.001, eps_place = outside)
// SHORT: = gelu(q, form = tanh)
// SHORT: = softmax(q)
// SHORT: = softmax(q, groups = 2)
// SHORT: = rope(q, f, layout = half)
// SHORT: = rope(q, f, layout = interleaved, offset = 2, scale = 0.5, inverse = true)
// SHORT: = relative(w, beyond = last, log = true)
// SHORT: = relative(w, beyond = zero)
// SHORT: = relative(w, beyond = error)
// SHORT: = clamp_min(q, 0.1)
// SHORT: = sym(q, 2)
// SHORT: = sym(q, 3, block = 4, abs = true)
// SHORT: = power(q, 2)
// SHORT: = triu(q, q, weights = sqrt2)
// SHORT: = scatter(q, indices = [0, 2, 2, 0:5], width = 9)
polyattn.attention @functions(q, k, v: seq[8], w: weight[8], u: weight[8, 8], f: weight[4]) {
  a = layer_norm(q, eps = 1e-3)
  b = layer_norm(q, w, w, eps = 1e-3, eps_place = outside)
  c = gelu(q, form = tanh)
  e = softmax(q)
  g = softmax(q, groups = 2)
  h = rope(q, f, layout = half)
  i = rope(q, f, layout = interleaved, offset = 2, scale = 0.5, inverse = true)
  rl = relative(w, beyond = last, log = true)
  rz = relative(w, beyond = zero)
  re = relative(w, beyond = error)
  j = clamp_min(q, 0.1)
  l = sym(q, 2)
  m = sym(q, 3, block = 4, abs = true)
  n = power(q, 2, symmetric = false)
  o = triu(q, q, weights = sqrt2)
  p = project(q, u, w)
  r = project(q, u, transposed = true)
  s = weight_product(u, u)
  t = concat(1, q)
  x = hadamard(q, q, q)
  y = scatter(q, indices = [0, 2, 2, 0:5], width = 9)
  return attend(q, k, v) causal normalize none
}

// CHECK-LABEL: @clauses
// CHECK: attend query %{{.*}} local %{{[^ ]*}}, %{{[^ ]*}} decay %g initial %s causal normalize <none> {block = 16, final_state, gate_heads = q, grouping = interleaved, score_scale = 0.5}
// CHECK: attend query %{{.*}} anticausal normalize <none> {decay_factors = array<f64: 0.5, 0.25>, gate_heads = kv}
// CHECK: return %{{.*}}, %{{.*}} : [8], tensor<?x?x8x8xf32>
// SHORT-LABEL: @clauses
// SHORT: x0, x1 = attend(q, k, v) causal normalize none local(q, k) block 16 decay g gate_heads q initial s final_state score_scale 0.5 grouping interleaved
// SHORT: attend(q, k, v) anticausal normalize none decay_factors(0.5, 0.25) gate_heads kv grouping none
polyattn.attention @clauses(q, k, v: seq[8], g: decay, s: state[8, 8]) {
  decay, initial = attend(q, k, v) causal normalize none grouping interleaved score_scale 1 / 2 gate_heads q
      initial s decay g local(q, k) block 4 * 4 final_state
  block = attend(q, k, v) anticausal normalize none grouping none decay_factors(1 / 2, 0.25) gate_heads kv
  return decay + block, initial
}

// CHECK-LABEL: @normalizers
// CHECK: normalize <sum, eps = 0.0> {grouping
// CHECK: normalize <sum, eps = 1.0e-6, eps_mode = row_max> {grouping
// CHECK: normalize <sum, eps = 0.001, reduce = mean, guard_below = 1.0e-4, guard_add = 2.0e-4, min_denom = 0.5>
// CHECK-SAME: signed_scores
// CHECK: normalize <bias, bias = 1.0> {grouping
// CHECK: normalize <none, reduce = mean> {grouping
// SHORT-LABEL: @normalizers
// SHORT: normalize sum(0){{$}}
// SHORT: normalize sum(1e-6, eps_mode = row_max){{$}}
// SHORT: normalize sum(0.001, reduce = mean, guard_below = 1e-4, guard_add = 2e-4, min_denom = 0.5) signed_scores
// SHORT: normalize bias(1){{$}}
// SHORT: normalize none(reduce = mean){{$}}
polyattn.attention @normalizers(q, k, v: seq[8]) {
  a = attend(exp(q), exp(k), v) causal normalize sum(0)
  b = attend(exp(q), exp(k), v) causal normalize sum(1e-6, eps_mode = row_max)
  c = attend(q, k, v) causal normalize sum(eps = 1e-3, reduce = mean, guard_add = 2e-4, guard_below = 1e-4, min_denom = 0.5)
      signed_scores
  d = attend(exp(q), exp(k), v) causal normalize bias(1)
  e = attend(q, k, v) causal normalize none(reduce = mean)
  return concat(a, b, c, d, e)
}

// Maps take vectors, weights and numbers, see the names around them, and hide these by their own.
// CHECK-LABEL: @maps
// CHECK: %[[Q:.*]] = read %q
// CHECK: %[[X:.*]] = scale %[[Q]] {factor = 3.0
// CHECK: %[[W:.*]] = read %w
// CHECK: %[[Y:.*]] = mul_vec %[[X]], %[[W]]
// CHECK: %[[Z:.*]] = relu %[[Y]]
// CHECK: concat %[[Z]], %[[X]]
// CHECK: %[[K:.*]] = read %k
// CHECK: scale %[[K]] {factor = 4.0
polyattn.attention @maps<d = 8>(q, k, v: seq[d], w: weight[d]) {
  map twice(x, c) = x * c
  map phi(x, c) {
    q = twice(x, c + 1)
    y = q * w
    return concat(relu(y), q)
  }
  return attend(phi(q, 2), phi(k, 3), v) causal normalize none
}

// Rows that local blocks keep.
// CHECK-LABEL: @keeps
// CHECK: keep %k in %local_k
// CHECK: keep %v in %local_v
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : [8], tensor<?x?x10x8xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x8xf32>
// SHORT-LABEL: @keeps
// SHORT: = keep(k, local_k)
polyattn.attention @keeps(q, k: seq[4], v: seq[8], s: state[10, 8], local_k: state[16, 4], local_v: state[16, 8],
    rows: slots i32, first: first_position)
    -> (o, final in s, k_after in local_k, v_after in local_v) {
  a = sym(q, 2)
  b = sym(k, 2)
  o, final = attend(a, b, v) causal normalize none local(a, b) block 16 initial s final_state
  return o, final, keep(k, local_k), keep(v, local_v)
}

// What has no short form, an argument that is read twice, is printed as it is.
// SHORT-LABEL: polyattn.attention @long(%q:
polyattn.attention @long(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %again = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
