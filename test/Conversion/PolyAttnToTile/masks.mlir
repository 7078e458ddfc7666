// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile | FileCheck %s

// Attends of one mask are one kernel, which stores the results that are computed from them.
// CHECK-LABEL: tile.kernel @gradients programs
// CHECK-NOT:   {upper}
// CHECK:       tile.store {{.*}}%d_q
// CHECK-NOT:   tile.store
// CHECK-LABEL: tile.kernel @gradients__anticausal programs
// CHECK:       {upper_lhs}
// CHECK-NOT:   lower
// CHECK:       tile.store {{.*}}%d_k
// CHECK:       tile.store {{.*}}%d_v
// CHECK-NOT:   tile.store
// CHECK:       tile.entry @gradients tensors 7 inputs 4 {
// CHECK-NEXT:    tile.stage @gradients programs [dim(3, 0), dim(3, 2)]
// CHECK-NEXT:    tile.stage @gradients__anticausal programs [dim(2, 0), dim(2, 2)]
// CHECK-NEXT:  }
polyattn.attention @gradients(
    %q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>, %d_o: tensor<?x?x?x6xf32>)
    -> (d_q: tensor<?x?x?x8xf32>, d_k: tensor<?x?x?x8xf32>, d_v: tensor<?x?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  %d = read %d_o : tensor<?x?x?x6xf32> -> [6]
  %dq = attend query %d key %c value %b causal normalize <none> : [6], [6], [8]
  %dk = attend query %c key %d value %a anticausal normalize <none> : [6], [6], [8]
  %dv = attend query %b key %a value %d anticausal normalize <none> : [8], [8], [6]
  return %dq, %dk, %dv : [8], [8], [6]
}
