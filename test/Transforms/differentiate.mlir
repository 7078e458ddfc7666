// RUN: polyattn-opt --polyattn-inline-maps --polyattn-differentiate %s | FileCheck %s

polyattn.feature_map @projected(%x: [4], %w: 4x3) {
  %p = project %x, %w : [4], 4x3
  %phi = exp %p : [3]
  yield %phi : [3]
}

// What the forward keeps are further results; its own stay as they are.
// CHECK-LABEL: polyattn.attention @a__forward
// CHECK-SAME:    -> (o: tensor<?x?x?x5xf32>, o_factors: tensor<?x?x?x2xf32>)
// CHECK:         [[O:%.*]], [[F:%.*]] = attend {{.*}} normalize <sum, {{.*}}> {factors
// CHECK-NEXT:    return [[O]], [[F]] : [5], [2]

// The normalizer is folded into the gradient of the rows, the weight has the terms of both sides.
// CHECK-LABEL: polyattn.attention @a__backward
// CHECK-SAME:    (%q: {{.*}}, %k: {{.*}}, %v: {{.*}}, %w: tensor<4x3xf32>, %o: tensor<?x?x?x5xf32>, %o_factors: tensor<?x?x?x2xf32>, %d_o: tensor<?x?x?x5xf32>)
// CHECK-SAME:    -> (d_q: tensor<?x?x?x4xf32>, d_k: tensor<?x?x?x4xf32>, d_v: tensor<?x?x?x5xf32>, d_w: tensor<4x3xf32>)
// CHECK-SAME:    attributes {gradient_of = {d_k = "k", d_o = "o", d_q = "q", d_v = "v", d_w = "w"}, saved = ["o", "o_factors"]}
// CHECK-DAG:     [[DO:%.*]] = read %d_o
// CHECK-DAG:     [[OUT:%.*]] = read %o :
// CHECK-DAG:     [[FACTORS:%.*]] = read %o_factors
// CHECK-DAG:     [[X:%.*]] = read %q
// CHECK-DAG:     [[Y:%.*]] = read %k
// CHECK-DAG:     [[V:%.*]] = read %v
// CHECK-DAG:     [[W:%.*]] = read %w
// CHECK-DAG:     [[PQ:%.*]] = project [[X]], [[W]]
// CHECK-DAG:     [[A:%.*]] = exp [[PQ]]
// CHECK-DAG:     [[PK:%.*]] = project [[Y]], [[W]]
// CHECK-DAG:     [[B:%.*]] = exp [[PK]]
// CHECK-DAG:     [[F0:%.*]] = select [[FACTORS]] {indices = array<i64: 0>}
// CHECK-DAG:     [[F1:%.*]] = select [[FACTORS]] {indices = array<i64: 1>}
// CHECK:         [[DO_O:%.*]] = hadamard [[DO]], [[OUT]]
// CHECK:         [[DOT:%.*]] = sum [[DO_O]]
// CHECK:         [[PLUS:%.*]] = hadamard [[DOT]], [[F1]]
// CHECK:         [[DZ:%.*]] = scale [[PLUS]] {factor = -1.0
// CHECK:         [[DN:%.*]] = hadamard [[DO]], [[F0]]
// CHECK:         [[G:%.*]]:3 = attend_backward query [[A]] leaves ([[A]]) key [[B]] leaves ([[B]]) value [[V]] gradient [[DN]], [[DZ]] causal {grouping = {{.*}}} : [3], [3], [3], [3], [5], [5], [1]
// CHECK-DAG:     [[DPK:%.*]] = hadamard [[G]]#1, [[B]]
// CHECK-DAG:     [[DK:%.*]] = project [[DPK]], [[W]] {transposed}
// CHECK-DAG:     [[DPQ:%.*]] = hadamard [[G]]#0, [[A]]
// CHECK-DAG:     [[DQ:%.*]] = project [[DPQ]], [[W]] {transposed}
// CHECK:         [[DW:%.*]] = weight_gradient ([[Y]], [[DPK]]), ([[X]], [[DPQ]]) : ([4], [3]), ([4], [3])
// CHECK-NOT:     attend query
// CHECK:         return [[DQ]], [[DK]], [[G]]#2, [[DW]] : [4], [4], [5], 4x3
polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x5xf32>,
                      %w: tensor<4x3xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = apply @projected(%q, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> [3]
  %b = apply @projected(%k, %w) : tensor<?x?x?x4xf32>, tensor<4x3xf32> -> [3]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>} : [3], [3], [5]
  return %o : [5]
}

// Only what is asked for.
// WRT-LABEL: polyattn.attention @a__backward
// WRT-SAME:    -> (d_k: tensor<?x?x?x4xf32>, d_w: tensor<4x3xf32>)

// Without a denominator nothing is kept; a 16 bit weight's gradient is f32.
// CHECK-LABEL: polyattn.attention @plain__forward
// CHECK-SAME:    -> (o: tensor<?x?x?x4xbf16>) {
// CHECK-LABEL: polyattn.attention @plain__backward
// CHECK-SAME:    (%k: tensor<?x?x?x4xbf16>, %w: tensor<4xbf16>, %d_o: tensor<?x?x?x4xbf16>)
// CHECK-SAME:    -> (d_k: tensor<?x?x?x4xbf16>, d_w: tensor<4xf32>)
polyattn.attention @plain(%k: tensor<?x?x?x4xbf16>, %w: tensor<4xbf16>) -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %k : tensor<?x?x?x4xbf16> -> [4]
  %u = read %w : tensor<4xbf16> -> 4
  %a = mul_vec %x, %u : [4], 4
  %o = attend query %a key %x value %x full normalize <none> : [4], [4], [4]
  return %o : [4]
}

// What is computed from an attend's output is computed from what was kept of it, in f32.
// CHECK-LABEL: polyattn.attention @after__forward
// CHECK-SAME:    -> (y: tensor<?x?x?x4xf32>, state: tensor<?x?x4x4xf32>, output0: tensor<?x?x?x4xf32>)
// CHECK-LABEL: polyattn.attention @after__backward
// CHECK-SAME:    %output0: tensor<?x?x?x4xf32>, %d_y: tensor<?x?x?x4xf32>, %d_state: tensor<?x?x4x4xf32>)
// CHECK-SAME:    d_g: tensor<?x?x?xf32>, d_s: tensor<?x?x4x4xf32>)
// CHECK:         attend_backward {{.*}} decay %g initial %s final_gradient %d_state causal
polyattn.attention @after(%k: tensor<?x?x?x4xf32>, %w: tensor<4xf32>, %g: tensor<?x?x?xf32>, %s: tensor<?x?x4x4xf32>)
    -> (y: tensor<?x?x?x4xf32>, state: tensor<?x?x4x4xf32>) {
  %x = read %k : tensor<?x?x?x4xf32> -> [4]
  %u = read %w : tensor<4xf32> -> 4
  %o, %state = attend query %x key %x value %x decay %g initial %s causal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>
  %t = tanh %o : [4]
  %y = mul_vec %t, %u : [4], 4
  return %y, %state : [4], tensor<?x?x4x4xf32>
}

// Where 16 bits hold the result and rows are divided, <d_o, o> takes an o that is not rounded.
// CHECK-LABEL: polyattn.attention @stored__forward
// CHECK-SAME:    -> (o: tensor<?x?x?x4xbf16>, o_f32: tensor<?x?x?x4xf32>, o_factors: tensor<?x?x?x2xf32>)
// CHECK-LABEL: polyattn.attention @stored__backward
// CHECK-SAME:    (%q: tensor<?x?x?x4xbf16>, %k: tensor<?x?x?x4xbf16>, %o_f32: tensor<?x?x?x4xf32>, %o_factors: tensor<?x?x?x2xf32>, %d_o: tensor<?x?x?x4xbf16>)
// CHECK-SAME:    -> (d_q: tensor<?x?x?x4xbf16>, d_k: tensor<?x?x?x4xbf16>)
// CHECK-SAME:    saved = ["o_f32", "o_factors"]
// CHECK:         [[STORED:%.*]] = read %o_f32
// CHECK:         hadamard {{%.*}}, [[STORED]]
polyattn.attention @stored(%q: tensor<?x?x?x4xbf16>, %k: tensor<?x?x?x4xbf16>) -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %q : tensor<?x?x?x4xbf16> -> [4]
  %y = read %k : tensor<?x?x?x4xbf16> -> [4]
  %a = exp %x : [4]
  %b = exp %y : [4]
  %o = attend query %a key %b value %y causal normalize <sum, eps = 1.0e-6> : [4], [4], [4]
  return %o : [4]
}

// A result of f32 beside sequences of 16 bits is kept as it is, and so are its gradients.
// CHECK-LABEL: polyattn.attention @wide_result__forward
// CHECK-SAME:    -> (o: tensor<?x?x?x4xf32>, o_factors: tensor<?x?x?x2xf32>)
// CHECK-LABEL: polyattn.attention @wide_result__backward
// CHECK-SAME:    %o: tensor<?x?x?x4xf32>, %o_factors: tensor<?x?x?x2xf32>, %d_o: tensor<?x?x?x4xf32>)
// CHECK-SAME:    -> (d_q: tensor<?x?x?x4xbf16>, d_k: tensor<?x?x?x4xbf16>)
polyattn.attention @wide_result(%q: tensor<?x?x?x4xbf16>, %k: tensor<?x?x?x4xbf16>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xbf16> -> [4]
  %y = read %k : tensor<?x?x?x4xbf16> -> [4]
  %a = exp %x : [4]
  %b = exp %y : [4]
  %o = attend query %a key %b value %y causal normalize <sum, eps = 1.0e-6> : [4], [4], [4]
  return %o : [4]
}

// A decay that two attends take.
// CHECK-LABEL: polyattn.attention @shared_decay__backward
// CHECK-DAG:     [[A:%.*]]:4 = attend_backward {{.*}} decay %g causal
// CHECK-DAG:     [[B:%.*]]:4 = attend_backward {{.*}} decay %g anticausal
// CHECK:         [[DG:%.*]] = add_gradients {{%.*}}#3, {{%.*}}#3 : tensor<?x?x?xf32>
// CHECK:         return {{.*}}, [[DG]]
polyattn.attention @shared_decay(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %a = attend query %x key %x value %x decay %g causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>
  %b = attend query %x key %x value %x decay %g anticausal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>
  %o = add %a, %b : [4], [4]
  return %o : [4]
}

// A state that two attends take, of one column: it is a sum of keys of the other one.
// CHECK-LABEL: polyattn.attention @shared_state__backward
// CHECK-DAG:     [[A:%.*]]:4 = attend_backward {{.*}} initial %s causal
// CHECK-DAG:     [[B:%.*]]:5 = attend_backward {{.*}} initial %t initial_normalizer %s causal
// CHECK:         [[DS:%.*]] = add_gradients {{%.*}}, {{%.*}} : tensor<?x?x4xf32>
// CHECK:         return {{.*}}, [[DS]]
polyattn.attention @shared_state(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x1xf32>, %s: tensor<?x?x4xf32>, %t: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x1xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %v : tensor<?x?x?x1xf32> -> [1]
  %a = attend query %x key %x value %y initial %s causal normalize <none> : [4], [4], [1], tensor<?x?x4xf32>
  %b = attend query %x key %x value %y initial %t initial_normalizer %s causal normalize <sum, eps = 1.0e-6>
      {signed_scores}
    : [4], [4], [1], tensor<?x?x4xf32>, tensor<?x?x4xf32>
  %o = add %a, %b : [1], [1]
  return %o : [1]
}

// A softmax keeps the logarithm of its denominator. Its weights are exponentials of a score that has it
// as a part, and the denominator's gradient is divided by nothing.
// CHECK-LABEL: polyattn.attention @softmax__forward
// CHECK-SAME:    o_factors: tensor<?x?x?x1xf32>
// CHECK-LABEL: polyattn.attention @softmax__backward
// CHECK-DAG:     [[DO:%.*]] = read %d_o
// CHECK-DAG:     [[L:%.*]] = read %o_factors
// CHECK-DAG:     [[O:%.*]] = read %o :
// CHECK-DAG:     [[Q:%.*]] = read %q
// CHECK-DAG:     [[K:%.*]] = read %k
// CHECK:         [[DOO:%.*]] = hadamard [[DO]], [[O]]
// CHECK:         [[SUM:%.*]] = sum [[DOO]]
// CHECK:         [[DZ:%.*]] = scale [[SUM]] {factor = -1.0}
// CHECK:         [[ONE:%.*]] = constant {value = 1.0, width = 1}
// CHECK:         [[ROW:%.*]] = scale [[L]] {factor = -2.0}
// CHECK:         [[QL:%.*]] = concat [[Q]], [[ROW]]
// CHECK:         [[KL:%.*]] = concat [[K]], [[ONE]]
// CHECK:         [[HALF:%.*]] = scale [[QL]] {factor = 0.5}
// CHECK:         [[EQ:%.*]] = exp_score [[HALF]]
// CHECK:         [[EK:%.*]] = exp_score [[KL]]
// CHECK:         attend_backward query [[EQ]] leaves ([[Q]], [[ROW]]) key [[EK]] leaves ([[K]]) value {{.*}} gradient [[DO]], [[DZ]] causal {grouping = block, window = 9}
polyattn.attention @softmax(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <softmax> {grouping = block, score_scale = 0.5, window = 9} : [8], [8], [4]
  return %o : [4]
}
