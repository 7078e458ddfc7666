// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s
// RUN: polyattn-opt --mlir-print-op-generic %s | polyattn-opt | FileCheck %s

// CHECK-LABEL: polyattn.feature_map @based(%x: [64], %w: 64x16) {
// CHECK-NEXT:    %0 = project %x, %w : [64], 64x16
// CHECK:         concat {{.*}} : [1], [16], sym 2 [16]
polyattn.feature_map @based(%x: [64], %w: 64x16) {
  %p = project %x, %w : [64], 64x16
  %h = scale %p {factor = 0.5} : [16]
  %one = constant {value = 1.0, width = 1}
  %xx = power 2 %h {symmetric} : [16]
  %c = scale %xx {factor = 0.70710678118654757} : sym 2 [16]
  %phi = concat %one, %h, %c : [1], [16], sym 2 [16]
  yield %phi : [1] + [16] + sym 2 [16]
}

// CHECK-LABEL: polyattn.attention @based_attention(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>, %w: tensor<?x64x16xf32>) -> (o: tensor<?x?x?x32xf32>) {
// CHECK:         attend query %0 key %1 value %2 causal normalize <sum, eps = {{.*}}>
polyattn.attention @based_attention(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
                                    %v: tensor<?x?x?x32xf32>, %w: tensor<?x64x16xf32>)
    -> (o: tensor<?x?x?x32xf32>) {
  %a = apply @based(%q, %w) : tensor<?x?x?x64xf32>, tensor<?x64x16xf32> -> [1] + [16] + sym 2 [16]
  %b = apply @based(%k, %w) : tensor<?x?x?x64xf32>, tensor<?x64x16xf32> -> [1] + [16] + sym 2 [16]
  %c = read %v : tensor<?x?x?x32xf32> -> [32]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-12>
    : [1] + [16] + sym 2 [16], [1] + [16] + sym 2 [16], [32]
  return %o : [32]
}

// CHECK-LABEL: polyattn.attention @continued(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) first_position %first {
polyattn.attention @continued(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) first_position %first {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// CHECK-LABEL: polyattn.attention @in_a_pool(
// CHECK-SAME:    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s) first_position %first slots %slots lengths %lengths {
polyattn.attention @in_a_pool(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %first: tensor<?xi64>,
    %slots: tensor<?xi32>, %lengths: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s)
    first_position %first slots %slots lengths %lengths {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a initial %s causal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// CHECK-LABEL: polyattn.attention @packed(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi32>, %at: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>) first_position %first packed %at {
polyattn.attention @packed(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>) first_position %first packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// CHECK-LABEL: polyattn.attention @gradients(
// CHECK-SAME:    -> (d_q: tensor<?x?x?x4xf32>, {{.*}} d_w: tensor<4x4xf32>, d_u: tensor<4xf32>) attributes {gradient_of = {d_q = "q"}, saved = ["f"]} {
// CHECK:         attend_backward query {{%.*}} leaves ({{%.*}}) key {{%.*}} leaves ({{%.*}}) value {{%.*}} local_query {{%.*}} leaves ({{%.*}}) local_key {{%.*}} leaves ({{%.*}}) gradient {{%.*}}, {{%.*}} decay %g initial %s initial_normalizer %z final_gradient %ds final_normalizer_gradient %dz causal {block = 4, score_scale = 0.5} : sym 2 [4], [4], sym 2 [4], [4], [2], pow 2 [4], [4], pow 2 [4], [4], [2], [1], tensor<?x?x?xf32>, tensor<?x?x10x2xf32>, tensor<?x?x10xf32>, tensor<?x?x10x2xf32>, tensor<?x?x10xf32>
// CHECK:         weight_gradient ({{%.*}}, {{%.*}}), ({{%.*}}, {{%.*}}) : ([4], [4]), ([4], [4])
// CHECK:         weight_gradient {{%.*}}, {{%.*}} : [4], [4]
polyattn.attention @gradients(
    %q: tensor<?x?x?x4xbf16>, %k: tensor<?x?x?x4xbf16>, %v: tensor<?x?x?x2xbf16>,
    %f: tensor<?x?x?x2xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x10x2xf32>,
    %z: tensor<?x?x10xf32>, %ds: tensor<?x?x10x2xf32>, %dz: tensor<?x?x10xf32>)
    -> (d_q: tensor<?x?x?x4xf32>, d_k: tensor<?x?x?x4xf32>, d_g: tensor<?x?x?xf32>,
        d_s: tensor<?x?x10x2xf32>, d_w: tensor<4x4xf32>, d_u: tensor<4xf32>)
    attributes {gradient_of = {d_q = "q"}, saved = ["f"]} {
  %a = read %q : tensor<?x?x?x4xbf16> -> [4]
  %b = read %k : tensor<?x?x?x4xbf16> -> [4]
  %c = read %v : tensor<?x?x?x2xbf16> -> [2]
  %dn = read %f : tensor<?x?x?x2xf32> -> [2]
  %dzn = sum %dn : [2]
  %aa = power 2 %a {symmetric} : [4]
  %bb = power 2 %b {symmetric} : [4]
  %la = power 2 %a : [4]
  %lb = power 2 %b : [4]
  %da, %db, %dla, %dlb, %dc, %dg, %ds0, %dz0 = attend_backward
      query %aa leaves (%a) key %bb leaves (%b) value %c
      local_query %la leaves (%a) local_key %lb leaves (%b) gradient %dn, %dzn
      decay %g initial %s initial_normalizer %z final_gradient %ds final_normalizer_gradient %dz
      causal {block = 4, score_scale = 0.5}
    : sym 2 [4], [4], sym 2 [4], [4], [2], pow 2 [4], [4], pow 2 [4], [4], [2], [1],
      tensor<?x?x?xf32>, tensor<?x?x10x2xf32>, tensor<?x?x10xf32>, tensor<?x?x10x2xf32>,
      tensor<?x?x10xf32>
  %dw = weight_gradient (%a, %da), (%b, %db) : ([4], [4]), ([4], [4])
  %du = weight_gradient %da, %db : [4], [4]
  return %da, %db, %dg, %ds0, %dw, %du
    : [4], [4], tensor<?x?x?xf32>, tensor<?x?x10x2xf32>, 4x4, 4
}

// CHECK-LABEL: polyattn.attention @decay_gradient(
// CHECK:         {{%.*}}, [[O:%.*]] = attend {{.*}} decay %g initial %s products {{%.*}} causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>, [4]
// CHECK:         {{%.*}}, [[V:%.*]]:2 = attend {{.*}} decay %g products {{%.*}} anticausal normalize <none> {final_state} : [4], [4], [4], tensor<?x?x?xf32>, [4]
// CHECK:         decay_gradient %g queries [[O]] keys [[V]]#1 states %s gradients [[V]]#0 {gate_heads = q, grouping = block} : tensor<?x?x?xf32>, [1], [1], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
polyattn.attention @decay_gradient(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>,
    %s: tensor<?x?x4x4xf32>) -> (d_g: tensor<?x?x?xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a decay %g initial %s products %a causal normalize <none>
    : [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>, [4]
  %v:3 = attend query %a key %a value %a decay %g products %a anticausal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %dg = decay_gradient %g queries %o#1 keys %v#2 states %s gradients %v#1
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : tensor<?x?x?xf32>, [1], [1], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
  return %dg : tensor<?x?x?xf32>
}

// CHECK-LABEL: polyattn.attention @add_states(
// CHECK:         [[S:%.*]] = add_states %s, %t : tensor<?x?x4xf32>, tensor<?x?x4x1xf32> -> tensor<?x?x4x1xf32>
// CHECK:         attend {{.*}} initial [[S]] anticausal normalize <none> : [4], [4], [1], tensor<?x?x4x1xf32>
polyattn.attention @add_states(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x1xf32>, %s: tensor<?x?x4xf32>,
    %t: tensor<?x?x4x1xf32>) -> (o: tensor<?x?x?x1xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x1xf32> -> [1]
  %sum = add_states %s, %t : tensor<?x?x4xf32>, tensor<?x?x4x1xf32> -> tensor<?x?x4x1xf32>
  %o = attend query %a key %a value %c initial %sum anticausal normalize <none>
    : [4], [4], [1], tensor<?x?x4x1xf32>
  return %o : [1]
}

// CHECK-LABEL: polyattn.attention @factors(
// CHECK:         [[O:%.*]], [[F:%.*]] = attend {{.*}} {factors, signed_scores}
// CHECK:         return [[O]], [[F]] : [4], [2]
polyattn.attention @factors(%q: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %f = attend query %a key %a value %a causal normalize <bias, bias = 1.0>
      {signed_scores, factors} : [4], [4], [4]
  return %o, %f : [4], [2]
}

// CHECK-LABEL: polyattn.feature_map @gradient_ops
// CHECK-NEXT:    project %x, %w {transposed} : [4], 6x4
// CHECK-NEXT:    rope {{.*}} {{{.*}}inverse
// CHECK-NEXT:    scatter {{.*}} {indices = array<i64: 0, 2, 2, 1>, width = 6} : [4]
// CHECK-NEXT:    sum {{.*}} : [6]
// CHECK-NEXT:    is_above {{.*}} {value = 0.5} : [6]
// CHECK-NEXT:    sign
// CHECK-NEXT:    log
// CHECK-NEXT:    first_max
// CHECK-NEXT:    gelu_slope {{.*}} {form = erf} : [6]
polyattn.feature_map @gradient_ops(%x: [4], %w: 6x4, %f: 2) {
  %a = project %x, %w {transposed} : [4], 6x4
  %b = rope %x, %f {layout = #polyattn.rope_layout<half>, dims = 4, inverse, offset = 0.0, scale = 1.0}
    : [4], 2
  %c = scatter %b {indices = array<i64: 0, 2, 2, 1>, width = 6} : [4]
  %d = sum %c : [6]
  %e = is_above %a {value = 0.5} : [6]
  %g = sign %e : [6]
  %h = log %g : [6]
  %i = first_max %h : [6]
  %j = gelu_slope %i {form = #polyattn.gelu_form<erf>} : [6]
  %y = add %j, %d : [6], [1]
  yield %y : [6]
}

// Numbers are the shortest decimals that read back, and the cases of enums are words.
// CHECK-LABEL: polyattn.feature_map @attributes
// CHECK-NEXT:    scale %x {factor = -0.0} : [4]
// CHECK-NEXT:    scale {{.*}} {factor = 0.1} : [4]
// CHECK-NEXT:    scale {{.*}} {factor = 0.30000000000000004} : [4]
// CHECK-NEXT:    add_const {{.*}} {value = 5.0e-324} : [4]
// CHECK-NEXT:    add_const {{.*}} {value = 1.0e22} : [4]
// CHECK-NEXT:    layer_norm {{.*}} {eps = 1.0e-5, eps_place = inside} : [4]
// CHECK-NEXT:    layer_norm {{.*}} {eps = 1.0e-5, eps_place = outside} : [4]
// CHECK-NEXT:    softmax {{.*}} {groups = 2, tile.note = 7, tile.other = 3 : i32} : [4]
// CHECK-NEXT:    gelu {{.*}} {form = tanh} : [4]
polyattn.feature_map @attributes(%x: [4]) {
  %a = scale %x {factor = -0.0} : [4]
  %b = scale %a {factor = 0.10000000000000001 : f64} : [4]
  %c = scale %b {factor = 0.30000000000000004} : [4]
  %d = add_const %c {value = 4.9406564584124654e-324} : [4]
  %e = add_const %d {value = 1.0e+22} : [4]
  %f = layer_norm %e {eps = 1.0e-5, eps_place = inside} : [4]
  %g = layer_norm %f {eps = 1.0e-5, eps_place = #polyattn.eps_place<outside>} : [4]
  %h = softmax %g {groups = 2 : i64, tile.note = 7, tile.other = 3 : i32} : [4]
  %i = gelu %h {"form" = tanh} : [4]
  yield %i : [4]
}

// CHECK-LABEL: polyattn.attention @attributes_of_attends
// CHECK:         attend {{.*}} {decay_factors = array<f64: 0.5, 0.1, 1.0e-300>, gate_heads = q, grouping = interleaved, score_scale = 0.25}
polyattn.attention @attributes_of_attends(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none>
      {score_scale = 0.25, grouping = interleaved, gate_heads = q,
       decay_factors = array<f64: 5.0e-1, 0.1, 1.0e-300>}
    : [4], [4], [4]
  return %o : [4]
}
