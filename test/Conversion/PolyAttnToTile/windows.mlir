// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-blocks=false --polyattn-step-kernels --polyattn-to-tile | FileCheck %s

// A softmax carries the largest score of a row: sums follow where it grows.
// CHECK-LABEL: tile.kernel @softmax programs
// CHECK:       [[LEAST:%.*]] = tile.constant -3.4028234663852886E+38 : <16x1xf32>
// CHECK:       scf.for {{.*}} iter_args([[N:%.*]] = {{.*}}, [[Z:%.*]] = {{.*}}, [[M:%.*]] = [[LEAST]])
// CHECK:         [[DOT:%.*]] = tile.dot
// CHECK:         [[S:%.*]] = tile.map [[DOT]]
// CHECK:         [[MAX:%.*]] = tile.reduce <max> <columns> [[S]]
// CHECK:         [[NEW:%.*]] = tile.map [[M]], [[MAX]]
// CHECK:         [[GROWTH:%.*]] = tile.map [[M]], [[NEW]]
// CHECK:           math.exp
// CHECK:         [[N2:%.*]] = tile.map [[N]], [[GROWTH]]
// CHECK:         [[Z2:%.*]] = tile.map [[Z]], [[GROWTH]]
// CHECK:         [[P:%.*]] = tile.map [[S]], [[NEW]]
// CHECK:           math.exp
// CHECK:         tile.dot [[P]], {{.*}} acc [[N2]]
// Scores beyond the diagonal are no part of the maximum, and weights there are chosen to be 0.
// CHECK:       [[OWN:%.*]] = tile.dot {{.*}}lower
// CHECK:       [[D:%.*]] = tile.map [[OWN]]
// CHECK:       tile.reduce <max> <columns> [[D]] {{.*}}lower
// CHECK:       tile.causal_mask
polyattn.attention @softmax(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <softmax> {schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>} : [8], [8], [4]
  return %o : [4]
}

// A window of 48 positions and blocks of 16 have two whole blocks before the diagonal, and one of which
// some pairs are outside; a call's first blocks have fewer.
// CHECK-LABEL: tile.kernel @window programs
// CHECK:       scf.for [[ROW:%.*]] = {{.*}} step
// CHECK:         [[C32:%.*]] = arith.constant 32 : index
// CHECK:         [[SKIPPED:%.*]] = arith.minsi [[ROW]], [[C32]]
// CHECK:         [[WHOLE:%.*]] = arith.subi [[ROW]], [[SKIPPED]]
// CHECK:         scf.for
// CHECK-NOT:       tile.iota
// CHECK:           scf.yield
// CHECK:         [[C48:%.*]] = arith.constant 48 : index
// CHECK:         [[MORE:%.*]] = arith.minsi [[ROW]], [[C48]]
// CHECK:         [[FIRST:%.*]] = arith.subi [[ROW]], [[MORE]]
// CHECK:         arith.subi [[WHOLE]], [[FIRST]]
// CHECK:         scf.for
// CHECK:           [[EDGE:%.*]] = arith.constant -48 : index
// CHECK:           [[MOVED:%.*]] = arith.addi {{.*}}, [[EDGE]]
// CHECK:           tile.iota [[MOVED]]
// CHECK:           scf.yield
// CHECK-NOT:     tile.iota
polyattn.attention @window(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> {window = 48, schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>} : [8], [8], [4]
  return %o : [4]
}

// Keys see the queries after them, and a window shorter than a block is one of the diagonal, too.
// CHECK-LABEL: tile.kernel @short_window programs
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           [[EDGE:%.*]] = arith.constant 5 : index
// CHECK:           [[MOVED:%.*]] = arith.addi {{.*}}, [[EDGE]]
// CHECK:           tile.iota [[MOVED]]
// CHECK:         tile.causal_mask {{.*}}upper
// CHECK:         [[OWN:%.*]] = arith.constant 5 : index
// CHECK:         [[SHIFTED:%.*]] = arith.addi {{.*}}, [[OWN]]
// CHECK:         tile.iota [[SHIFTED]]
polyattn.attention @short_window(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c anticausal normalize <none> {window = 5, schedule = #polyattn.schedule<form = quadratic, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>} : [8], [8], [4]
  return %o : [4]
}
