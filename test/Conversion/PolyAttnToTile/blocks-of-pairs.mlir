// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-to-tile | FileCheck %s
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-blocks-of-sums" --polyattn-to-tile | FileCheck %s --check-prefix=SUMS

// A program has one block of rows: there is no loop over them, but one over the keys before.
// CHECK-LABEL: tile.kernel @softmax programs [ceildiv(dim(0, 1), 16), dim(0, 0), dim(0, 2)]
// CHECK:       [[BLOCK:%.*]] = {{(tile.)?}}program_id 0
// CHECK:       [[ROW:%.*]] = arith.muli [[BLOCK]]
// CHECK:       scf.for {{%.*}} = {{%.*}} to {{%.*}} step {{%.*}} iter_args
// CHECK-NOT:   scf.for
// CHECK:       store
// CHECK:       tile.entry @softmax
// CHECK:       tile.stage @softmax {{.*}}[ceildiv(dim(0, 1), 16), dim(0, 0), dim(0, 2)]
polyattn.attention @softmax(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <softmax> {schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>} : [8], [8], [4]
  return %o : [4]
}

// Rows of keys are blocks of keys.
// CHECK-LABEL: tile.kernel @of_keys programs [ceildiv(dim(1, 1), 16), dim(2, 0), dim(2, 2)]
polyattn.attention @of_keys(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %b key %a value %c anticausal normalize <none> {of_keys, window = 20, schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>} : [8], [8], [4]
  return %o : [4]
}

// A program of a sum has a part of the blocks of all batches, or of the batches.
// CHECK-LABEL: tile.kernel @sum programs [parts, dim(0, 2)]
// CHECK:       choose parts of dim(0, 0) {{.*}}max = 64
// SUMS-LABEL:  tile.kernel @sum programs [parts, dim(0, 2)]
// SUMS:        choose parts of {{.*}}ceildiv(dim(0, 1), 16){{.*}}max = 512
polyattn.attention @sum(%q: tensor<?x?x?x4xf32>) -> (dw: tensor<4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %a = attend query %x key %x value %x causal normalize <softmax> {schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>} : [4], [4], [4]
  %dw = weight_gradient (%x, %a) : ([4], [4])
  return %dw : 4x4
}
