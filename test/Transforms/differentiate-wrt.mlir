// RUN: polyattn-opt --polyattn-differentiate="wrt=k,w" %s | FileCheck %s

// Only what is asked for, in the order of the arguments.
// CHECK-LABEL: polyattn.attention @a__backward
// CHECK-SAME:    -> (d_k: tensor<?x?x?x4xf32>, d_w: tensor<4xf32>)
// CHECK-SAME:    gradient_of = {d_k = "k", d_o = "o", d_w = "w"}
// CHECK:         [[G:%.*]]:3 = attend_backward
// CHECK-NOT:     [[G]]#0
// CHECK-NOT:     [[G]]#2
// CHECK:         return
polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x5xf32>,
                      %w: tensor<4xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %u = read %w : tensor<4xf32> -> 4
  %b = mul_vec %y, %u : [4], 4
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o = attend query %x key %b value %c causal normalize <none> : [4], [4], [5]
  return %o : [5]
}

// A final state that is two results has a gradient in each; a backward attend takes the sum.
// CHECK-LABEL: polyattn.attention @state_returned_twice__backward
// CHECK-SAME:    %d_f: tensor<?x?x4x5xf32>, %d_o: tensor<?x?x?x5xf32>, %d_g: tensor<?x?x4x5xf32>)
// CHECK:         %[[SUM:.*]] = add_states %d_f, %d_g : tensor<?x?x4x5xf32>, tensor<?x?x4x5xf32> -> tensor<?x?x4x5xf32>
// CHECK:         attend_backward {{.*}} final_gradient %[[SUM]] causal
polyattn.attention @state_returned_twice(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x5xf32>, %w: tensor<4xf32>)
    -> (f: tensor<?x?x4x5xf32>, o: tensor<?x?x?x5xf32>, g: tensor<?x?x4x5xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %u = read %w : tensor<4xf32> -> 4
  %b = mul_vec %y, %u : [4], 4
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o:2 = attend query %x key %b value %c causal normalize <none> {final_state} : [4], [4], [5]
  return %o#1, %o#0, %o#1 : tensor<?x?x4x5xf32>, [5], tensor<?x?x4x5xf32>
}

// An argument that no result depends on has no gradient, though it is asked for.
// CHECK-LABEL: polyattn.attention @unused__backward
// CHECK-SAME:    %w: tensor<4xf32>, %d_o: tensor<?x?x?x4xf32>) -> (d_k: tensor<?x?x?x4xf32>)
// CHECK-SAME:    gradient_of = {d_k = "k", d_o = "o"}
polyattn.attention @unused(%k: tensor<?x?x?x4xf32>, %w: tensor<4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %o = tanh %y : [4]
  return %o : [4]
}
