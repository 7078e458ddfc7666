// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels --polyattn-to-tile --canonicalize --cse | FileCheck %s

// Rows of keys: a program is a head of queries, which stores what it has of its rows in f32 where others have the
// same rows; a second kernel adds the heads of a group.
// CHECK-LABEL: tile.kernel @d_v programs [dim(2, 0), dim(2, 2)]
// CHECK:         %[[HEAD:[a-z0-9_]+]] = program_id 1 : index
// CHECK:         %[[KEY_HEAD:[a-z0-9_]+]] = arith.remui %[[HEAD]]
// CHECK:         scf.if
// CHECK:           tile.store {{.*}}, %d_v[%batch, %{{.*}}, %[[KEY_HEAD]],
// CHECK:         } else {
// CHECK-NEXT:      tile.store {{.*}}, %heads_anticausal[%batch, %{{.*}}, %[[HEAD]], %c0]
// CHECK-LABEL: tile.kernel @d_v__groups programs [dim(1, 0), dim(1, 2)]
// CHECK:         %[[KEYS:[a-z0-9_]+]] = program_id 1 : index
// CHECK:         scf.if
// CHECK:           tile.load %heads_anticausal[%batch, %{{.*}}, %{{.*}}, %c0]
// CHECK:           tile.store {{.*}}, %d_v[%batch, %{{.*}}, %[[KEYS]],
// CHECK:       tile.entry @d_v tensors 4 inputs 3 {
// CHECK-NEXT:    tile.workspace @heads_anticausal : f32 [dim(1, 0), dim(1, 1), dim(2, 2), 8]
// CHECK-NEXT:    tile.stage @d_v programs [dim(2, 0), dim(2, 2)] uses [@heads_anticausal]
// CHECK-NEXT:    tile.stage @d_v__groups role group_sums programs [dim(1, 0), dim(1, 2)] uses [@heads_anticausal]
// CHECK-NEXT:  }
polyattn.attention @d_v(%q: tensor<?x?x?x16xbf16>, %k: tensor<?x?x?x16xbf16>, %d_o: tensor<?x?x?x8xbf16>)
    -> (d_v: tensor<?x?x?x8xbf16>) {
  %a = read %q : tensor<?x?x?x16xbf16> -> [16]
  %b = read %k : tensor<?x?x?x16xbf16> -> [16]
  %d = read %d_o : tensor<?x?x?x8xbf16> -> [8]
  %dv = attend query %b key %a value %d anticausal normalize <none>
    {grouping = #polyattn.grouping<interleaved>, of_keys} : [16], [16], [8]
  return %dv : [8]
}

// Kernels of other rows take no workspace of these.
// CHECK:       tile.entry @both
// CHECK-NEXT:    tile.stage @both programs [dim(0, 0), dim(0, 2)]{{$}}
// CHECK-NEXT:    tile.workspace @heads_full
// CHECK-NEXT:    tile.stage @both__full_of_keys
// CHECK-NEXT:    tile.stage @both__full_of_keys__groups role group_sums
polyattn.attention @both(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>)
    -> (x: tensor<?x?x?x16xf32>, y: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %x = attend query %a key %b value %b full normalize <none> {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  %y = attend query %b key %a value %a full normalize <none>
    {grouping = #polyattn.grouping<block>, of_keys} : [16], [16], [16]
  return %x, %y : [16], [16]
}
