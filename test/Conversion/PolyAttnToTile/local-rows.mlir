// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels --polyattn-to-tile | FileCheck %s

// The first run of local blocks has begun before the call: its queries see the rows in the pools, nearest
// first, after those of the call, and the state takes in a full block with them. Further runs have none.
// CHECK-LABEL: tile.kernel @kept programs
// CHECK:         %[[BEFORE:.*]] = arith.remui %{{.*}}, %c32_i64
// CHECK:         %[[COUNT:.*]] = arith.index_cast %[[BEFORE]]
// CHECK:         %[[KEPT:.*]] = arith.select %{{.*}}, %[[COUNT]], %{{.*}}
// CHECK:         %[[ALL:.*]] = arith.addi %[[KEPT]], %{{.*}}
// CHECK:         scf.for %[[START:[a-z0-9]+]] = %{{.*}} to %[[ALL]] step %c32
// CHECK:           %[[OWN:.*]] = arith.select %{{.*}}, %[[KEPT]], %c0
// CHECK:           %[[FULL:.*]] = arith.cmpi sle, %{{.*}}, %[[ALL]]
// CHECK:           scf.for
// CHECK:             %[[CALL:.*]] = scf.for
// CHECK:               tile.load %q[%batch, {{.*}}transposed
// CHECK:             arith.subi %[[OWN]]
// CHECK:             scf.for {{.*}} iter_args(%{{.*}} = %[[CALL]])
// CHECK:               tile.load %final_values[%[[SLOT:.*]], %head, %[[ROW:.*]], %{{.*}}] valid %[[VALID:.*]] {{{.*}}row_dim = 2
// CHECK:               tile.load %final_keys[%[[SLOT]], %head, %[[ROW]], %{{.*}}] valid %[[VALID]] {{{.*}}transposed
// CHECK:               tile.dot {{.*}} bound %[[VALID]]
// CHECK:             tile.causal_mask
// CHECK:           %[[TAKEN:.*]] = arith.select %[[FULL]], %[[OWN]], %c0
// CHECK:           scf.for {{.*}} to %[[TAKEN]]
// CHECK:             tile.load %final_keys
// CHECK:             tile.accumulate
// CHECK:           %[[END:.*]] = arith.select %[[FULL]]
// CHECK:           scf.for {{.*}} to %[[END]]
// CHECK:             tile.load %q
// CHECK:             tile.accumulate

// A call that goes on and fills no block leaves the state alone.
// CHECK:         %[[FILLS:.*]] = arith.cmpi sge, %{{.*}}, %c32
// CHECK:         %[[CHANGES:.*]] = arith.ori %[[FILLS]]
// CHECK:         scf.if %[[CHANGES]]
// CHECK:           tile.store %{{.*}}, %new_final

// CHECK-LABEL: tile.kernel @kept__write_back
// CHECK:         scf.for
// CHECK:           tile.load %q[%batch, {{.*}} valid %[[LEFT:[a-z0-9]+]]
// CHECK:           tile.store %{{.*}}, %final_keys[{{.*}}] valid %[[LEFT]] {{{.*}}row_dim = 2
// CHECK:           tile.load %v
// CHECK:           tile.store %{{.*}}, %final_values

polyattn.attention @kept(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %state: tensor<?x?x8x4xf32>,
    %keys: tensor<?x?x32x8xf32>, %values: tensor<?x?x32x4xf32>, %slots: tensor<?xi32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, final: tensor<?x?x8x4xf32> in %state,
        final_keys: tensor<?x?x32x8xf32> in %keys, final_values: tensor<?x?x32x4xf32> in %values)
    first_position %first slots %slots {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = exp %a : [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %keys : tensor<?x?x?x8xf32>, tensor<?x?x32x8xf32>
  %w = keep %v in %values : tensor<?x?x?x4xf32>, tensor<?x?x32x4xf32>
  %o:2 = attend query %a key %a value %c local %b, %b initial %state causal normalize <none>
      {final_state, block = 32, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 8, quadratic_below = 0>}
    : [8], [8], [4], [8], [8], tensor<?x?x8x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x8x4xf32>, tensor<?x?x32x8xf32>, tensor<?x?x32x4xf32>
}
