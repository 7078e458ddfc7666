// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --cse --split-input-file --verify-diagnostics | FileCheck %s

// Gradients of queries from states after blocks are computed in the kernel of those of keys, and what both need is formed
// once for each block: here the exponentials of keys. Those of queries are computed in rows for the gradient and in columns for
// the features, which takes no transposition. The kernel sweeps backwards.
// CHECK-LABEL: tile.kernel @one_sweep programs
// CHECK-NOT:   tile.kernel
// CHECK:       scf.for
// CHECK-COUNT-3: math.exp
// CHECK-NOT:   math.exp
// CHECK:       tile.entry @one_sweep
// CHECK:         tile.stage @one_sweep programs
// CHECK-NOT:     tile.stage
polyattn.attention @one_sweep(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %d: tensor<?x?x?x8xf32>,
                              %s: tensor<?x?x?x4xf32>) -> (d_q: tensor<?x?x?x4xf32>, d_v: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = exp %x : [4]
  %b = exp %y : [4]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %dn = read %d : tensor<?x?x?x8xf32> -> [8]
  %da = attend query %dn key %c value %b block_states %s causal normalize <none>
      {state_every = 8, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 8, quadratic_below = 0>}
    : [8], [8], [4], tensor<?x?x?x4xf32>
  %dq = hadamard %da, %a : [4], [4]
  %dv = attend query %b key %a value %dn anticausal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 4, quadratic_below = 0>} : [4], [4], [8]
  return %dq, %dv : [4], [8]
}

// -----

// A result of both needs rows of the one in the other: these have kernels of their own.
// CHECK-LABEL: tile.kernel @one_result programs
// CHECK:       tile.load %s
// CHECK-LABEL: tile.kernel @one_result__anticausal programs
polyattn.attention @one_result(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x?x4xf32>) -> (d_q: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %a value %a block_states %s causal normalize <none>
      {state_every = 8, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 8, quadratic_below = 0>}
    : [4], [4], [4], tensor<?x?x?x4xf32>
  %y = attend query %a key %a value %a anticausal normalize <none>
      {schedule = #polyattn.schedule<form = state, diagonal = scores, block = 8, feature_block = 8, quadratic_below = 0>} : [4], [4], [4]
  %z = add %x, %y : [4], [4]
  return %z : [4]
}

// -----

// A schedule that somebody has written has the blocks after which states are kept.
polyattn.attention @other_blocks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>, s: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{states after every 8 positions are those after blocks of as many, but the schedules' block has 16}}
  %o, %s = attend query %a key %a value %a causal normalize <none>
      {state_every = 8, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>}
    : [4], [4], [4]
  return %o, %s : [4], [4]
}
