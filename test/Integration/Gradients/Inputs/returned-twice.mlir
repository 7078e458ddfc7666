// A value that is several results has a gradient in each, and what goes back is their sum.
polyattn.attention @state(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %state: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, f0: tensor<?x?x4x4xf32>, f1: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %x key %y value %values initial %state causal normalize <none> {final_state} : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %o#1 : [4], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
}

// The state three times and its normalizer twice, with features whose state has weights, key heads that groups share, and
// the output as two results of different storage.
polyattn.attention @normalized(%q: tensor<?x?x?x4xbf16>, %k: tensor<?x?x?x4xbf16>, %v: tensor<?x?x?x6xbf16>,
    %state: tensor<?x?x10x6xf32>, %sums: tensor<?x?x10xf32>)
    -> (o: tensor<?x?x?x6xbf16>, z0: tensor<?x?x10xf32>, f0: tensor<?x?x10x6xf32>, f1: tensor<?x?x10x6xf32>,
        p: tensor<?x?x?x6xf32>, z1: tensor<?x?x10xf32>, f2: tensor<?x?x10x6xf32>) {
  %x = read %q : tensor<?x?x?x4xbf16> -> [4]
  %y = read %k : tensor<?x?x?x4xbf16> -> [4]
  %a = elu_plus_one %x : [4]
  %b = elu_plus_one %y : [4]
  %aa = power 2 %a {symmetric} : [4]
  %bb = power 2 %b {symmetric} : [4]
  %values = read %v : tensor<?x?x?x6xbf16> -> [6]
  %o:3 = attend query %aa key %bb value %values initial %state initial_normalizer %sums causal
      normalize <sum, eps = 1.0e-3> {final_state, grouping = #polyattn.grouping<block>}
    : sym 2 [4], sym 2 [4], [6], tensor<?x?x10x6xf32>, tensor<?x?x10xf32>
  return %o#0, %o#2, %o#1, %o#1, %o#0, %o#2, %o#1
    : [6], tensor<?x?x10xf32>, tensor<?x?x10x6xf32>, tensor<?x?x10x6xf32>, [6], tensor<?x?x10xf32>, tensor<?x?x10x6xf32>
}

// Gradients of gates take the gradient in the final state where the mask is anticausal, and the initial state elsewhere.
polyattn.attention @gated(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>,
    %state: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>, f0: tensor<?x?x4x4xf32>, f1: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %x key %y value %values decay %g initial %state causal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x?xf32>, tensor<?x?x4x4xf32>
  return %o#0, %o#1, %o#1 : [4], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
}

polyattn.attention @gated_anticausal(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>, f0: tensor<?x?x4x4xf32>, f1: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %x key %y value %values decay %g anticausal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x?xf32>
  return %o#0, %o#1, %o#1 : [4], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
}

// Equal attends, which are one once they are simplified.
polyattn.attention @equal_attends(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>, f0: tensor<?x?x4x4xf32>, f1: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %x key %y value %values causal normalize <none> {final_state} : [4], [4], [4]
  %one = scale %y {factor = 1.0} : [4]
  %p:2 = attend query %x key %one value %values causal normalize <none> {final_state} : [4], [4], [4]
  return %o#0, %p#0, %o#1, %p#1 : [4], [4], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
}

// States of one column, with their last dimension and without.
polyattn.attention @column(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x1xf32>, %state: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x1xf32>, f0: tensor<?x?x4xf32>, f1: tensor<?x?x4x1xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x1xf32> -> [1]
  %o:2 = attend query %x key %y value %values initial %state causal normalize <none> {final_state} : [4], [4], [1], tensor<?x?x4xf32>
  return %o#0, %o#1, %o#1 : [1], tensor<?x?x4x1xf32>, tensor<?x?x4x1xf32>
}

// An argument that is read, used and returned, and a vector of it that two results are.
polyattn.attention @argument(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, x: tensor<?x?x?x4xf32>, a: tensor<?x?x?x4xf32>, b: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %e = tanh %x : [4]
  %o = attend query %e key %y value %values causal normalize <none> : [4], [4], [4]
  return %o, %x, %e, %e : [4], [4], [4], [4]
}
