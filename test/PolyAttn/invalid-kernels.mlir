// RUN: polyattn-opt %s --split-input-file --verify-diagnostics

polyattn.attention @two_masks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @k {
    %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
    // expected-error@+1 {{C2: attends of one kernel have one mask and rows of one side}}
    %y = attend query %a key %a value %a anticausal normalize <none> : [4], [4], [4]
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @no_yield(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: a region must end in `kernel_yield`}}
  kernel @k {
    %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  }
  return %a : [4]
}

// -----

polyattn.attention @empty(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
  kernel @k {
  }
  return %a : [4]
}

// -----

polyattn.attention @other_types(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: results have other types than what the regions yield}}
  %o = "polyattn.kernel"() <{kernel_name = "k"}> ({
    kernel_yield %a : [4]
  }, {
  }) : () -> !polyattn.feature<[8]>
  return %a : [4]
}

// -----

polyattn.feature_map @map(%x: [4]) {
  %e = exp %x : [4]
  yield %e : [4]
}

polyattn.attention @applied(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = apply @map(%q) : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C3: no map is applied where there are kernels (--polyattn-inline-maps), but @map is}}
  %o = kernel @k {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @beside_with_state(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @k {
    kernel_yield %a : [4]
  } beside {
    // expected-error@+1 {{C4: attends beside others take their states from a tensor}}
    %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
    kernel_yield
  }
  return %o : [4]
}

// -----

polyattn.attention @nothing_beside(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C4: expected attends beside those of the kernel's body}}
  %o = kernel @k {
    kernel_yield %a : [4]
  } beside {
    kernel_yield
  }
  return %o : [4]
}

// -----

polyattn.attention @nested(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @k {
    // expected-error@+1 {{expects parent op 'polyattn.attention'}}
    %i = kernel @inner {
      kernel_yield %a : [4]
    }
    kernel_yield %i : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @sum_of_running_sums(%q: tensor<?x?x?x4xf32>, %held: tensor<4xf32>) -> (dw: tensor<4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %w = kernel @k {
    %g = weight_gradient %a plus %held : [4] plus tensor<4xf32>
    kernel_yield %g : 4
  }
  // expected-error@+1 {{C2: expected what kernels yield for a `weight_gradient` without `plus`}}
  %dw = sum_weights %w : 4
  return %dw : 4
}

// -----

polyattn.attention @products_of_kernel(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x1xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @k {
    // expected-error@+1 {{C17: products are for gradients of decays, but polyattn.return uses them}}
    %x, %p = attend query %a key %a value %a decay %g products %a causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>, [4]
    kernel_yield %p : [1]
  }
  return %o : [1]
}

// -----

// An attention in kernels keeps what its clauses ask for.
polyattn.attention @slots(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32>) slots %slots {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = kernel @k {
    // expected-error@+1 {{C8: with slots a state begins and ends in a pool}}
    %x:2 = attend query %a key %a value %a initial %s causal normalize <none> {final_state} : [4], [4], [4], tensor<?x?x4x4xf32>
    kernel_yield %x#0, %x#1 : [4], tensor<?x?x4x4xf32>
  }
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @attend_outside(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C12: stands outside of the attention's kernels}}
  %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %o = kernel @k {
    kernel_yield %a : [4]
  }
  return %o, %x : [4], [4]
}

// -----

// expected-error@+1 {{C12: result "p" is not what a kernel yields}}
polyattn.attention @returned_from_outside(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @k {
    kernel_yield %a : [4]
  }
  return %o, %a : [4], [4]
}

// -----

polyattn.attention @equal_names(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @k {
    kernel_yield %a : [4]
  }
  // expected-error@+1 {{C12: another kernel is called "k"}}
  %p = kernel @k {
    kernel_yield %a : [4]
  }
  return %o, %p : [4], [4]
}

// -----

polyattn.attention @two_cuts(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{a head is cut by features, by positions or into parts of the batches, not by two of them}}
  %o = kernel @k cut <splits = 2, subsegments = 2> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @cost_of_no_prefix(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{prefix_cost is for `subsegments`, of which there are none}}
  %o = kernel @k cut <splits = 2, prefix_cost = 50> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @blocks_of_splits(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{blocks are for kernels without a state, which are not cut otherwise}}
  %o = kernel @k cut <splits = 2, blocks = true> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @prefix_of_splits(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{prefix_features are for kernels in the form chunkwise, whose heads are not cut by features or by positions}}
  %o = kernel @k cut <splits = 2, prefix_features = 32> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @less_than_no_features(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{prefix_features is 0 to 16777216, got -1}}
  %o = kernel @k cut <prefix_features = -1> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @no_blocks_of_sums(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{sum_blocks is 1 to 65536, got 0}}
  %o = kernel @k cut <prefix_features = 32, sum_blocks = 0> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @blocks_of_sums_alone(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{sum_blocks are for kernels in the form chunkwise, which have prefix_features as well}}
  %o = kernel @k cut <sum_blocks = 2> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @three_in_cluster(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{a cluster has a power of two of programs}}
  %o = kernel @k cut <cluster = 3> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @other_tokens(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{tokens are 0, or as many as `one_by_one` or `few`, which has 0 to 1024 positions, got 4, 1 and 8}}
  %o = kernel @k steps <tokens = 4, few = 8> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @steps_of_no_token(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{one_by_one is 1 to as many as `tokens`, got 9 and 8}}
  %o = kernel @k steps <tokens = 8, one_by_one = 9, few = 8> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @convolution_beside(%q: tensor<?x?x?x4xf32>, %u: tensor<9x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %h = read %u : tensor<9x4xf32> -> 9x4
  %o = kernel @k cut <channels = 4> {
    // expected-error@+1 {{C5: stands in a kernel of its own, with element-wise ops}}
    %y = convolve %a, %h : [4], 9x4
    %z = l2_norm %y {eps = 1.0} : [4]
    kernel_yield %z : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @channels_of_rows(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C5: `cut` has channels, and the kernel no convolution}}
  %o = kernel @k cut <channels = 4> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @channels_and_blocks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{channels are for kernels of convolutions, which are not cut otherwise}}
  %o = kernel @k cut <channels = 4, blocks = true> {
    kernel_yield %a : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @convolution_outside(%q: tensor<?x?x?x4xf32>, %u: tensor<9x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %h = read %u : tensor<9x4xf32> -> 9x4
  // expected-error@+1 {{C12: stands outside of the attention's kernels}}
  %y = convolve %a, %h : [4], 9x4
  %o = kernel @k {
    kernel_yield %y : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @rows_in_integers(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C6: row_type is f32, bf16 or f16, not 'i32'}}
  %rows = kernel @rows {
    kernel_yield %a : [4]
  } attributes {row_type = i32}
  return %rows : [4]
}
