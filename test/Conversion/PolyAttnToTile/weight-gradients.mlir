// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile | FileCheck %s

// A program adds up the blocks of its head in all batches of its part. A pair is added by the kernel
// of the attends that it is computed from; x is read in rows, so that sums are those of dy x^T.
// CHECK-LABEL: tile.kernel @sums programs [parts, dim(0, 2)]
// CHECK-DAG:     [[PART:%.*]] = program_id 0
// CHECK-DAG:     [[HEAD:%.*]] = program_id 1
// CHECK:         [[DW:%.*]] = buffer : <6x8>
// CHECK:         [[DB:%.*]] = buffer : <6x1>
// CHECK:         scf.for
// CHECK:           tile.accumulate {{.*}}, [[DW]][{{.*}}] bound {{.*}} : <6x{{.*}}xf32>, <{{.*}}x8xf32>, <6x8>
// CHECK:           tile.reduce {{.*}} bound
// CHECK:           tile.write {{.*}}, [[DB]]
// CHECK:         store {{.*}}, %weight_sums0{{\[}}[[PART]], [[HEAD]], {{.*}}]
// CHECK:         store {{.*}}, %weight_sums1{{\[}}[[PART]], [[HEAD]], {{.*}}]

// CHECK-LABEL: tile.kernel @sums__anticausal programs [parts, dim(1, 2)]
// CHECK:         tile.accumulate {{.*}} : <6x{{.*}}xf32>, <{{.*}}x8xf32>, <6x8>

// What programs have stored is added part by part and head by head, but for a weight of each head.
// CHECK-LABEL: tile.kernel @sums__reduce programs [3, dim(6, 0)]
// CHECK:         tile.load %weight_sums0[{{.*}}] {{.*}}transposed
// CHECK:         tile.load %weight_sums2
// CHECK:         store {{.*}}, %dw
// CHECK:         store {{.*}}, %db
// CHECK:         tile.load %weight_sums3
// CHECK:         store {{.*}}, %du

// CHECK:       tile.entry @sums tensors 7 inputs 4 {
// CHECK-NEXT:    tile.workspace @weight_sums0 : f32 [parts, dim(0, 2), 6, 8]
// CHECK-NEXT:    tile.workspace @weight_sums1 : f32 [parts, dim(0, 2), 6]
// CHECK-NEXT:    tile.stage @sums programs [parts, dim(0, 2)] uses [@weight_sums0, @weight_sums1]
// CHECK-NEXT:    tile.workspace @weight_sums2 : f32 [parts, dim(1, 2), 6, 8]
// CHECK-NEXT:    tile.workspace @weight_sums3 : f32 [parts, dim(1, 2), 6, 8]
// CHECK-NEXT:    tile.stage @sums__anticausal programs [parts, dim(1, 2)] uses [@weight_sums2, @weight_sums3]
// CHECK-NEXT:    tile.stage @sums__reduce role weight_sums programs [3, dim(6, 0)] uses [@weight_sums0, @weight_sums1, @weight_sums2, @weight_sums3]
// CHECK-NEXT:    tile.choose parts of dim(1, 0) {bytes = 600 : i64, max = 64 : i64}
polyattn.attention @sums(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>,
    %x: tensor<?x?x?x8xf32>)
    -> (dw: tensor<8x6xf32>, db: tensor<6xf32>, du: tensor<?x8x6xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  %d = read %x : tensor<?x?x?x8xf32> -> [8]
  %y = attend query %a key %b value %c causal normalize <none> : [8], [8], [6]
  %z = attend query %b key %a value %c anticausal normalize <none> : [8], [8], [6]
  %dw = weight_gradient (%a, %y), (%b, %z) : ([8], [6]), ([8], [6])
  %db = weight_gradient %y : [6]
  %du = weight_gradient (%d, %z) : ([8], [6])
  return %dw, %db, %du : 8x6, 6, 8x6
}

// Rows of keys that query heads share: sums lie where the program's own head is, which is one of queries.
// CHECK-LABEL: tile.kernel @of_keys programs [parts, dim(2, 2)]
// CHECK:         [[HEAD:%.*]] = program_id 1
// CHECK:         store {{.*}}, %weight_sums0[{{%.*}}, [[HEAD]], {{.*}}]
// CHECK-LABEL: tile.kernel @of_keys__groups programs [parts, dim(1, 2)]
// CHECK:         [[HEAD:%.*]] = program_id 1
// CHECK:         store {{.*}}, %weight_sums1[{{%.*}}, [[HEAD]], {{.*}}]
polyattn.attention @of_keys(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>)
    -> (dw: tensor<8x6xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x6xf32> -> [6]
  %y = attend query %b key %a value %c anticausal normalize <none> {grouping = #polyattn.grouping<block>, of_keys} : [8], [8], [6]
  %dw = weight_gradient (%b, %y) : ([8], [6])
  return %dw : 8x6
}
