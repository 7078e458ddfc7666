// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile | FileCheck %s

// A result of two masks: the kernel of the first one leaves the widest vector that is its own in a
// workspace, and stores no result; that of the second one loads it and stores the result.
// CHECK-LABEL: tile.kernel @both_masks programs
// CHECK-SAME:    arg_names = ["q", "g", "o", "rows0"]
// CHECK:       tile.store {{.*}}%rows0
// CHECK-NOT:   tile.store
// CHECK-LABEL: tile.kernel @both_masks__anticausal programs
// CHECK-SAME:    arg_names = ["q", "g", "o", "rows0"]
// CHECK:       tile.load %rows0
// CHECK:       tile.store {{.*}}%o
// CHECK-NOT:   tile.store
// CHECK:       tile.entry @both_masks tensors 3 inputs 2 {
// CHECK-NEXT:    tile.workspace @rows0 : f32 [dim(0, 0), dim(0, 1), dim(0, 2), 4]
// CHECK-NEXT:    tile.stage @both_masks programs [dim(0, 0), dim(0, 2)] uses [@rows0]
// CHECK-NEXT:    tile.stage @both_masks__anticausal programs [dim(0, 0), dim(0, 2)] uses [@rows0]
polyattn.attention @both_masks(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %g : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %gated = hadamard %x, %b : [4], [4]
  %y = attend query %a key %a value %a anticausal normalize <none> : [4], [4], [4]
  %o = add %gated, %y : [4], [4]
  return %o : [4]
}
