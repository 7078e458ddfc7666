// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s
// RUN: polyattn-opt --mlir-print-op-generic %s | polyattn-opt | FileCheck %s

// CHECK-LABEL: @normalized
// CHECK: %[[S:.*]] = state key %{{.*}} value %{{.*}} decay %g initial %s initial_normalizer %z causal {normalizer} : [4], [2], tensor<?x?x?xf32>, tensor<?x?x4x2xf32>, tensor<?x?x4xf32>
// CHECK: attend query %{{.*}} key %{{.*}} value %{{.*}} decay %g state %[[S]] causal normalize <sum, eps = {{.*}}> {signed_scores} : [4], [4], [2], tensor<?x?x?xf32>, !polyattn.state<4x2, normalizer>
polyattn.attention @normalized(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>, %g: tensor<?x?x?xf32>,
                               %s: tensor<?x?x4x2xf32>, %z: tensor<?x?x4xf32>) -> (o: tensor<?x?x?x2xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %state = state key %x value %c decay %g initial %s initial_normalizer %z causal {normalizer}
    : [4], [2], tensor<?x?x?xf32>, tensor<?x?x4x2xf32>, tensor<?x?x4xf32>
  %o = attend query %x key %x value %c decay %g state %state causal normalize <sum, eps = 1.0e-6> {signed_scores}
    : [4], [4], [2], tensor<?x?x?xf32>, !polyattn.state<4x2, normalizer>
  return %o : [2]
}

// CHECK-LABEL: @views
// CHECK: %[[S:.*]] = state key %{{.*}} value %{{.*}} causal {last_apart} : sym 2 [4], [2] + [1]
// CHECK: %[[ROWS:.*]] = state_rows %[[S]] {first = 0, rows = 10} : !polyattn.state<10x3>
// CHECK: %[[UNFOLDED:.*]] = unfold_pairs %[[ROWS]] {factor_last} : !polyattn.state<10x3>
// CHECK: %[[TURNED:.*]] = transpose_state %[[UNFOLDED]] : !polyattn.state<12x4>
// CHECK: %[[HALF:.*]] = scale_state %[[TURNED]] {factor = 0.5} : !polyattn.state<4x12>
// CHECK: %[[STACK:.*]] = stack_states %[[HALF]], %[[TURNED]] : !polyattn.state<4x12>, !polyattn.state<4x12>
// CHECK: join_states %[[STACK]], %[[STACK]] : !polyattn.state<8x12>, !polyattn.state<8x12>
polyattn.attention @views(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %one = constant {value = 1.0, width = 1}
  %xx = power 2 %x {symmetric} : [4]
  %c1 = concat %c, %one : [2], [1]
  %s = state key %xx value %c1 causal {last_apart} : sym 2 [4], [2] + [1]
  %rows = state_rows %s {first = 0 : i64, rows = 10 : i64} : !polyattn.state<10x3>
  %unfolded = unfold_pairs %rows {factor_last} : !polyattn.state<10x3>
  %turned = transpose_state %unfolded : !polyattn.state<12x4>
  %half = scale_state %turned {factor = 0.5 : f64} : !polyattn.state<4x12>
  %stack = stack_states %half, %turned : !polyattn.state<4x12>, !polyattn.state<4x12>
  %joined = join_states %stack, %stack : !polyattn.state<8x12>, !polyattn.state<8x12>
  return %x : [4]
}
