// RUN: polyattn-opt --polyattn-accumulate-gradients %s | FileCheck %s
// RUN: polyattn-opt --polyattn-accumulate-gradients --polyattn-accumulate-gradients %s | FileCheck %s

// Sums over positions alone, after the arguments and in the order of the results; a running sum that is there stays.
// CHECK-LABEL: polyattn.attention @a__backward(
// CHECK-SAME:    %had: tensor<4xf32>, %sum_d_w: tensor<4x4xf32>, %sum_d_g: tensor<?xf32>)
// CHECK-SAME:    -> (d_q: tensor<?x?x?x4xf32>, d_u: tensor<4xf32> in %had, d_w: tensor<4x4xf32> in %sum_d_w, d_g: tensor<?xf32> in %sum_d_g)
// CHECK-SAME:    gradient_of = {d_g = "g", d_o = "o", d_q = "q", d_u = "u", d_w = "w", had = "u", sum_d_g = "g", sum_d_w = "w"}
// CHECK:         weight_gradient {{%.*}} plus %had : [4] plus tensor<4xf32>
// CHECK:         weight_gradient ({{%.*}}, {{%.*}}) plus %sum_d_w : ([4], [4]) plus tensor<4x4xf32>
// CHECK:         decay_gradient %g queries {{%.*}} keys {{%.*}} plus %sum_d_g : tensor<?xf32>, [1], [1], tensor<?xf32>
polyattn.attention @a__backward(%q: tensor<?x?x?x4xf32>, %g: tensor<?xf32>, %d_o: tensor<?x?x?x4xf32>, %had: tensor<4xf32>)
    -> (d_q: tensor<?x?x?x4xf32>, d_u: tensor<4xf32> in %had, d_w: tensor<4x4xf32>, d_g: tensor<?xf32>)
    attributes {gradient_of = {d_o = "o", d_q = "q", d_u = "u", d_w = "w", d_g = "g", had = "u"}} {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %d = read %d_o : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %a key %a value %a decay %g products %d causal normalize <none>
    : [4], [4], [4], tensor<?xf32>, [4]
  %r, %s = attend query %a key %a value %d decay %g products %a anticausal normalize <none>
    : [4], [4], [4], tensor<?xf32>, [4]
  %du = weight_gradient %o plus %had : [4] plus tensor<4xf32>
  %dw = weight_gradient (%a, %o) : ([4], [4])
  %dg = decay_gradient %g queries %p keys %s : tensor<?xf32>, [1], [1]
  return %o, %du, %dw, %dg : [4], 4, 4x4, tensor<?xf32>
}

// The gradient of a gate for each token has positions.
// CHECK-LABEL: polyattn.attention @gates(
// CHECK-NOT:     plus
polyattn.attention @gates(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (d_g: tensor<?x?x?xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o, %p = attend query %a key %a value %a decay %g products %a causal normalize <none>
    : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %r, %s = attend query %a key %a value %a decay %g products %a anticausal normalize <none>
    : [4], [4], [4], tensor<?x?x?xf32>, [4]
  %dg = decay_gradient %g queries %p keys %s : tensor<?x?x?xf32>, [1], [1]
  return %dg : tensor<?x?x?xf32>
}

// A gradient that is several results is as many ops, each with a running sum of its own; one of them may be of each head.
// CHECK-LABEL: polyattn.attention @returned_twice(
// CHECK-SAME:    %sum_d_w: tensor<4x4xf32>, %sum_d_u: tensor<?x4x4xf32>)
// CHECK-SAME:    -> (d_w: tensor<4x4xf32> in %sum_d_w, d_u: tensor<?x4x4xf32> in %sum_d_u)
// CHECK:         %[[W:.*]] = weight_gradient (%[[A:.*]], %[[A]]) plus %sum_d_w : ([4], [4]) plus tensor<4x4xf32>
// CHECK:         %[[U:.*]] = weight_gradient (%[[A]], %[[A]]) plus %sum_d_u : ([4], [4]) plus tensor<?x4x4xf32>
// CHECK:         return %[[W]], %[[U]] : 4x4, 4x4
polyattn.attention @returned_twice(%q: tensor<?x?x?x4xf32>) -> (d_w: tensor<4x4xf32>, d_u: tensor<?x4x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %dw = weight_gradient (%a, %a) : ([4], [4])
  return %dw, %dw : 4x4, 4x4
}
