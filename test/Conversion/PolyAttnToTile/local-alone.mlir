// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// An attend whose features are zero, as the gradient of local vectors is, has no pairs outside of its blocks: there is
// one product with the keys of a block, and one loop, over the blocks.

// CHECK-LABEL: tile.kernel @alone
// CHECK: scf.for
// CHECK: dot
// CHECK: causal_mask
// CHECK: dot
// CHECK-NOT: scf.for
// CHECK-NOT: dot
polyattn.attention @alone(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %z = constant {value = 0.0, width = 1}
  %o = attend query %z key %z value %x local %x, %x causal normalize <none> {block = 16}
    : [1], [1], [4], [4], [4]
  return %o : [4]
}

// A window that slides has the block before as well, and takes no score for what is outside of it.
// CHECK-LABEL: tile.kernel @sliding
// CHECK: scf.for
// CHECK: scf.for
// CHECK: dot
// CHECK: arith.select %{{.*}}, %{{.*}}, %cst
// CHECK: dot
// CHECK: scf.yield
// CHECK-NOT: scf.for
polyattn.attention @sliding(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %z = constant {value = 0.0, width = 1}
  %o = attend query %z key %z value %x local %x, %x causal normalize <none> {block = 16, sliding}
    : [1], [1], [4], [4], [4]
  return %o : [4]
}
