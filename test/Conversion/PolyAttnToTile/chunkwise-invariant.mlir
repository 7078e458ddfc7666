// RUN: not polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile 2>&1 | FileCheck %s

// CHECK: error: bits of the form `chunkwise` depend on where a call begins in its sequence, which those of an invariant kernel must not: leave the schedule out
module attributes {polyattn.invariant} {
polyattn.attention @chunks(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> {schedule = #polyattn.schedule<form = chunkwise,
      diagonal = scores, block = 64, feature_block = 4, quadratic_below = 0, segment = 128>} : [4], [4], [4]
  return %o : [4]
}
}
