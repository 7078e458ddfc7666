// RUN: polyattn-opt %s --split-input-file --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile | FileCheck %s
// RUN: polyattn-opt %S/Inputs/packed-decay.mlir --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile | FileCheck %s --check-prefix=PACKED

// Programs of both masks store products of each row, before the pair of the row with itself is added; the last
// kernel goes over the positions of a gate. These products are subtracted from each other: nothing is rounded for them.
// CHECK-LABEL: tile.kernel @gates programs
// CHECK:         [[STRICT:%.*]] = tile.dot {{.*}}precision <f32> {{.*}}lower_lhs
// CHECK:         [[PRODUCT:%.*]] = tile.map {{.*}}[[STRICT]]
// CHECK:         [[PRODUCTS:%.*]] = tile.reduce <add> <columns> [[PRODUCT]]
// CHECK:         store [[PRODUCTS]], %saved0[{{.*}}] valid
// CHECK-LABEL: tile.kernel @gates__anticausal programs
// CHECK:         store {{%.*}}, %saved1[{{.*}}] valid
// CHECK:         store {{%.*}}, %saved2
// CHECK-LABEL: tile.kernel @gates__decay programs [dim(5, 0), dim(5, 2)]
// CHECK:         tile.load %s
// CHECK:         tile.load %saved2
// CHECK:         store {{%.*}}, %d_g[{{.*}}] valid
// CHECK:         tile.load %saved1
// CHECK:         tile.load %saved0
// CHECK:         tile.cumulative_sum
// CHECK:         store {{%.*}}, %d_g[{{.*}}] valid

// CHECK:       tile.entry @gates tensors 6 inputs 5 {
// CHECK-NEXT:    tile.workspace @saved0 : f32 [dim(0, 0), dim(0, 1), dim(0, 2)]
// CHECK-NEXT:    tile.stage @gates programs [dim(0, 0), dim(0, 2)] uses [@saved0]
// CHECK-NEXT:    tile.workspace @saved1 : f32 [dim(1, 0), dim(1, 1), dim(1, 2)]
// CHECK-NEXT:    tile.workspace @saved2 : f32 [dim(1, 0), dim(0, 2), 8, 8]
// CHECK-NEXT:    tile.stage @gates__anticausal programs [dim(1, 0), dim(1, 2)] uses [@saved1, @saved2]
// CHECK-NEXT:    tile.stage @gates__decay role decay_sums programs [dim(5, 0), dim(5, 2)] uses [@saved0, @saved1, @saved2]
// CHECK-NEXT:  }
polyattn.attention @gates(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %g: tensor<?x?x?xf32>,
    %s: tensor<?x?x8x8xf32>, %ds: tensor<?x?x8x8xf32>) -> (d_g: tensor<?x?x?xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %n, %p = attend query %a key %b value %b decay %g initial %s products %a causal normalize <none>
    : [8], [8], [8], tensor<?x?x?xf32>, tensor<?x?x8x8xf32>, [8]
  %dv:3 = attend query %b key %a value %a decay %g initial %ds products %b anticausal normalize <none>
      {final_state} : [8], [8], [8], tensor<?x?x?xf32>, tensor<?x?x8x8xf32>, [8]
  %dg = decay_gradient %g queries %p keys %dv#2 states %s gradients %dv#1
    : tensor<?x?x?xf32>, [1], [1], tensor<?x?x8x8xf32>, tensor<?x?x8x8xf32>
  return %dg : tensor<?x?x?xf32>
}

// -----

// One gate for all positions: a program adds up those of all batches. Products are those of query heads, in
// kernels with rows of keys, too.
// CHECK-LABEL: tile.kernel @head__anticausal_of_keys programs [dim(0, 0), dim(0, 2)]
// CHECK:         [[HEAD:%.*]] = program_id 1
// CHECK:         store {{%.*}}, %saved1[{{%.*}}, {{%.*}}, [[HEAD]]] valid
// CHECK-LABEL: tile.kernel @head__decay programs [dim(3, 0)]
// CHECK:         memref.dim %saved0
// CHECK:         arith.divui
// CHECK:         store {{%.*}}, %d_g
// CHECK:         tile.workspace @saved1 : f32 [dim(1, 0), dim(1, 1), dim(0, 2)]
polyattn.attention @head(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %g: tensor<?xf32>)
    -> (d_g: tensor<?xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %n, %p = attend query %a key %b value %b decay %g products %a causal normalize <none>
      {grouping = #polyattn.grouping<block>} : [8], [8], [8], tensor<?xf32>, [8]
  %dv, %r = attend query %b key %a value %a decay %g products %b anticausal normalize <none>
      {grouping = #polyattn.grouping<block>, of_keys} : [8], [8], [8], tensor<?xf32>, [8]
  %dg = decay_gradient %g queries %p keys %r {grouping = #polyattn.grouping<block>}
    : tensor<?xf32>, [1], [1]
  return %dg : tensor<?xf32>
}

// The sum over packed sequences, whose rows lie between offsets.
// PACKED-LABEL: tile.kernel @{{.*}}__decay programs
// PACKED:         [[BOUNDS:%.*]] = memref.dim %at, %c0
// PACKED:         [[COUNT:%.*]] = arith.subi [[BOUNDS]], %c1
// PACKED:         scf.for [[I:%[a-z0-9]+]] = %c0 to [[COUNT]]
// PACKED:           memref.load %at[[[I]]]
