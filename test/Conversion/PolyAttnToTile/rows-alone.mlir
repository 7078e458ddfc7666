// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels="cut-positions cut-heads" --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse --split-input-file | FileCheck %s

// What depends on no attend is computed by the programs of one that has rows of queries. Here those of keys are fewer:
// the sum over rows of queries, and the result that is one, have programs of their own, of query heads.
// CHECK-LABEL: tile.kernel @behind programs
// CHECK-LABEL: tile.kernel @behind__groups programs
// CHECK-LABEL: tile.kernel @behind__rows programs [parts, dim(6, 2)]
// CHECK:         %[[HEAD:[a-z0-9_]+]] = program_id 1
// CHECK:         %[[SUMS:.*]] = buffer : <4x5>
// CHECK:           %[[DY:.*]] = tile.load %d_o[%{{.*}}, %{{.*}}, %[[HEAD]],
// CHECK-NEXT:      tile.store %[[DY]], %d_x[%{{.*}}, %{{.*}}, %[[HEAD]],
// CHECK-NEXT:      %[[X:.*]] = tile.load %o[%{{.*}}, %{{.*}}, %[[HEAD]],
// CHECK-NEXT:      tile.accumulate %[[X]], %[[DY]], %[[SUMS]]
// CHECK:         store {{.*}}, %weight_sums0[%{{.*}}, %[[HEAD]],
// CHECK-LABEL: tile.kernel @behind__reduce
// CHECK:       tile.entry @behind
// CHECK:         tile.stage @behind__groups role group_sums
// CHECK-NEXT:    tile.workspace @weight_sums0
// CHECK-NEXT:    tile.stage @behind__rows
// CHECK-NEXT:    tile.stage @behind__reduce role weight_sums
polyattn.attention @behind(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %o: tensor<?x?x?x4xf32>,
                           %d_o: tensor<?x?x?x5xf32>)
    -> (d_v: tensor<?x?x?x4xf32>, d_w: tensor<4x5xf32>, d_x: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %o : tensor<?x?x?x4xf32> -> [4]
  %d = read %d_o : tensor<?x?x?x5xf32> -> [5]
  %dv = attend query %b key %a value %c anticausal normalize <none>
      {grouping = #polyattn.grouping<block>, of_keys} : [4], [4], [4]
  %dw = weight_gradient (%c, %d) : ([4], [5])
  return %dv, %dw, %d : [4], 4x5, [5]
}

// -----

// An attention without an attend maps rows, block by block; there are no features or states that a launch could cut.
// CHECK-LABEL: tile.kernel @map programs [ceildiv(dim(1, 1), 64), dim(1, 0), dim(1, 2)]
// CHECK:       tile.entry @map
// CHECK-NEXT:    tile.stage @map
// CHECK-NEXT:  }
polyattn.attention @map(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %t = tanh %a : [4]
  return %t : [4]
}
