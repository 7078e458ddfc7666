// RUN: polyattn-opt %s --polyattn-to-tile --split-input-file --verify-diagnostics

// A cut that was written by hand is one that the kernel has.

polyattn.attention @splits(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`cut` asks for 2 splits, but the features can be cut into 1}}
  %o = kernel @k cut <splits = 2> {
    %s = state key %x value %x causal : [4], [4]
    %y = attend query %x key %x value %x state %s causal normalize <none> : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @segments(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`cut` asks for segments, but the positions cannot be cut}}
  %o = kernel @k cut <subsegments = 2> {
    %s = state key %x value %x full : [4], [4]
    %y = attend query %x key %x value %x state %s full normalize <none> : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @prefix(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`cut` asks for features of a prefix, but the schedule is not chunkwise}}
  %o = kernel @k cut <prefix_features = 32> {
    %s = state key %x value %x causal : [4], [4]
    %y = attend query %x key %x value %x state %s causal normalize <none> : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @cluster(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`cut` asks for a cluster of 8 programs, but 1 can share the features}}
  %o = kernel @k cut <cluster = 8> {
    %s = state key %x value %x causal : [4], [4]
    %y = attend query %x key %x value %x state %s causal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 32, feature_block = 4, quadratic_below = 0>}
      : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @no_parts(%q: tensor<?x?x?x4xf32>) -> (dw: tensor<4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{has terms of gradients of weights, and `cut` no `parts` for their sums (--polyattn-cut-kernels)}}
  %w = kernel @k {
    %g = weight_gradient %x : [4]
    kernel_yield %g : 4
  }
  %dw = sum_weights %w : 4
  return %dw : 4
}

// -----

polyattn.attention @steps(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`steps` asks for tokens, but no step can update these states}}
  %o = kernel @k steps <tokens = 1> {
    %s = state key %x value %x causal : [4], [4]
    %y = attend query %x key %x value %x state %s causal normalize <none> : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @batches(%q: tensor<?x?x?x4xf32>, %i: tensor<?x?x4x4xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %i) slots %slots {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`steps` asks for features of many batches, but these are no products with weights alone}}
  %o:2 = kernel @k steps <tokens = 1, batches = 4> {
    %s = state key %x value %x initial %i causal : [4], [4], tensor<?x?x4x4xf32>
    %y:2 = attend query %x key %x value %x state %s causal normalize <none> {final_state} : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y#0, %y#1 : [4], tensor<?x?x4x4xf32>
  }
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @blocks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`cut` asks for blocks, but the kernel has states, packed sequences, what is computed beside its rows, or local blocks that its blocks do not cut evenly}}
  %o = kernel @k cut <blocks = true> {
    %s = state key %x value %x causal : [4], [4]
    %y = attend query %x key %x value %x state %s causal normalize <none> : [4], [4], [4], !polyattn.state<4x4>
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @blocks_of_packed(%q: tensor<?x?x?x4xf32>, %s: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) packed %s {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{`cut` asks for blocks, but the kernel has states, packed sequences, what is computed beside its rows, or local blocks that its blocks do not cut evenly}}
  %o = kernel @k cut <blocks = true> {
    %y = attend query %x key %x value %x causal normalize <softmax> : [4], [4], [4]
    kernel_yield %y : [4]
  }
  return %o : [4]
}
