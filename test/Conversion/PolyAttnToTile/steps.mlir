// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels --polyattn-to-tile | FileCheck %s
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels=few-tokens=8 --polyattn-to-tile | FileCheck %s --check-prefix=FEW
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels="few-tokens=8 one-by-one=4" --polyattn-to-tile | FileCheck %s --check-prefix=TOKENS
// RUN: polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels=cut-heads=false --polyattn-step-kernels=fewest-batches=12 --polyattn-to-tile | FileCheck %s --check-prefix=TWELVE
// RUN: not polyattn-opt %s --polyattn-name-states --polyattn-form-kernels --polyattn-cut-kernels --polyattn-step-kernels=fewest-batches=17 --polyattn-to-tile 2>&1 | FileCheck %s --check-prefix=MANY

// MANY: error: expected few-tokens from 0 and one-by-one from 1 to 1024, and fewest-batches from 1 to 16, got 0, 1 and 17

// Calls of one token of a power: query heads that share a state read it as it was, the first of them last, which
// writes it. The own pair comes from its score.
// CHECK-LABEL: tile.kernel @power__step
// CHECK:         scf.for
// CHECK:           %[[OTHER:.*]] = tile.recur %{{[a-z0-9]+}}, %final[
// CHECK:           tile.dot {{.*}} : <4x1xf32>, <4x1xf32> -> <1x1xf32>
// CHECK:           tile.store %{{.*}}, %o[
// CHECK:         %[[FIRST:.*]] = tile.recur %{{[a-z0-9]+}} key %{{.*}} value %{{.*}}, %final[{{.*}} {before}
// CHECK:         %[[PRODUCT:.*]] = tile.dot {{.*}} : <4x1xf32>, <4x1xf32> -> <1x1xf32>
// CHECK:         tile.map %[[PRODUCT]]
// CHECK:         tile.dot {{.*}} acc %[[FIRST]]
// CHECK:         tile.store %{{.*}}, %o[

// A batch of few tokens is one block of them, and such a call has no kernels for longer ones and no workspace. The
// other query heads only read the copy of the state.
// FEW:         tile.kernel @power programs [ceildiv(dim(0, 1) - 8,
// FEW-LABEL:   tile.kernel @power__few programs [ceildiv(dim(0, 1) - 1, {{[0-9]+}}), dim(0, 0), dim(0, 2)]
// FEW-NOT:       tile.recur
// FEW:           %[[COPY:.*]] = tile.buffer : <10x4>
// FEW:           tile.load %state[
// FEW:           scf.for
// FEW:             scf.for
// FEW:               tile.load %v[{{.*}} -> <8x4xf32>
// FEW:               tile.read %[[COPY]]
// FEW-NOT:           tile.accumulate
// FEW:               tile.store %{{.*}}, %o[
// FEW:             tile.read %[[COPY]]
// FEW:             tile.accumulate {{.*}}, %[[COPY]]
// FEW:             tile.store %{{.*}}, %o[
// FEW:           %[[FINAL:.*]] = tile.read %[[COPY]]
// FEW:           tile.store %[[FINAL]], %final[
// FEW-LABEL:   tile.kernel @power__step programs [dim(0, 0), dim(0, 2)]
// FEW-NOT:       tile.buffer
// FEW:           tile.recur
// FEW:         tile.entry @power
// FEW-NEXT:      tile.stage @power__few role few
// FEW-NEXT:      tile.stage @power__step role step programs [dim(0, 0), dim(0, 2)]{{$}}
// FEW-NEXT:      tile.workspace @new_final : f32 [dim(0, 0), dim(2, 2), 10 * ceildiv(dim(0, 1) - 8,

polyattn.attention @power(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>,
    %state: tensor<?x?x10x4xf32>, %slots: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, final: tensor<?x?x10x4xf32> in %state) slots %slots {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %aa = power 2 %a {symmetric} : [4]
  %bb = power 2 %b {symmetric} : [4]
  %o:2 = attend query %aa key %bb value %c initial %state causal normalize <none>
      {final_state, grouping = #polyattn.grouping<block>, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 10, quadratic_below = 0>}
    : sym 2 [4], sym 2 [4], [4], tensor<?x?x10x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x10x4xf32>
}

// With steps one by one the same is a loop over tokens, each at a row and a position of its own.
// TOKENS-LABEL: tile.kernel @turned__step
// TOKENS:         scf.for %[[TOKEN:[a-z0-9]+]] = %c0{{.*}} to %dim step %c1
// TOKENS:           %[[ROW:.*]] = arith.addi %[[TOKEN]], %c0
// TOKENS:           tile.load %q[%batch, %[[ROW]],
// TOKENS:           %[[STEP:.*]] = tile.recur %{{[a-z0-9]+}} key
// TOKENS:           tile.store %[[STEP]], %o[%batch,
// TOKENS:       tile.entry @turned
// TOKENS-NEXT:    tile.stage @turned__few role few programs [ceildiv(dim(0, 1) - 4, {{.*}}
// TOKENS-NEXT:    tile.stage @turned__step

// Of local blocks: one query reads the state, and the rows that are kept in the pools, some at a time. Only the token
// that fills the block changes the state, with all of the block, and where it lives.
// CHECK-LABEL: tile.kernel @local__step
// CHECK:         %[[BEFORE:.*]] = arith.remui %{{.*}}, %c32_i64
// CHECK:         %[[COUNT:.*]] = arith.index_cast %[[BEFORE]]
// CHECK:         %[[KEPT:.*]] = arith.select %{{.*}}, %[[COUNT]], %{{.*}}
// CHECK-NOT:     tile.buffer
// CHECK:         %[[THROUGH:.*]] = tile.recur %{{[a-z0-9]+}}, %final[
// CHECK:         scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[THROUGH]])
// CHECK:           %[[VALUES:.*]] = tile.load %final_values[{{.*}} -> <16x4xf32>
// CHECK:           %[[KEYS:.*]] = tile.load %final_keys[{{.*}}transposed{{.*}} -> <8x16xf32>
// CHECK:           %[[SCORES:.*]] = tile.dot {{.*}} : <1x8xf32>, <8x16xf32> -> <1x16xf32>
// CHECK:           %[[WEIGHTS:.*]] = tile.map %[[SCORES]]
// CHECK:           tile.dot %[[WEIGHTS]], %[[VALUES]] acc %[[SUM]] : !tile.tile<1x4xf32> bound
// CHECK:         tile.store %{{.*}}, %o[
// CHECK:         %[[ALL:.*]] = arith.addi %[[KEPT]], %c1
// CHECK:         %[[FULL:.*]] = arith.cmpi eq, %[[ALL]], %c32
// CHECK:         scf.if %[[FULL]]
// CHECK:           tile.buffer
// CHECK:           tile.load %final[
// CHECK:           scf.for {{.*}} to %[[KEPT]]
// CHECK:             tile.load %final_keys
// CHECK:             tile.accumulate
// CHECK:           tile.load %q[{{.*}} valid
// CHECK:           tile.accumulate
// CHECK:           tile.store %{{.*}}, %final[
// CHECK:         tile.store %{{.*}}, %final_keys[
// CHECK:         tile.store %{{.*}}, %final_values[

polyattn.attention @local(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>, %state: tensor<?x?x8x4xf32>,
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

// Vectors that know their positions share no weights with other batches, but they step.
// CHECK-LABEL: tile.kernel @turned__step
// CHECK:         tile.recur %{{[a-z0-9]+}} key
// CHECK-NOT:   tile.kernel @turned__vectors

polyattn.attention @turned(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %w: tensor<4x4xf32>,
    %f: tensor<2xf32>, %state: tensor<?x?x4x4xf32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, final: tensor<?x?x4x4xf32> in %state) first_position %first {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %weight = read %w : tensor<4x4xf32> -> 4x4
  %freqs = read %f : tensor<2xf32> -> 2
  %y = project %x, %weight : [4], 4x4
  %a = rope %y, %freqs {layout = #polyattn.rope_layout<half>, dims = 4, scale = 1.0, offset = 0.0} : [4], 2
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %c initial %state causal normalize <none>
      {final_state, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// Features of many batches are computed before the steps, which load them; those of few batches by the steps where a
// target says so.
// CHECK-LABEL: tile.kernel @projected__step
// CHECK-NOT:     tile.load %w
// CHECK:         tile.load %step_keys[
// CHECK:         tile.recur %{{[a-z0-9]+}} key
// CHECK-NOT:     tile.recur
// CHECK-LABEL: tile.kernel @projected__vectors programs [ceildiv(dim(0, 0), 16), dim(0, 2)]
// CHECK:         tile.load %q[{{.*}}row_dim = 0{{.*}}
// CHECK:         tile.dot {{.*}} -> <4x16xf32>
// CHECK:         tile.store %{{.*}}, %step_queries[
// CHECK:       tile.entry @projected
// CHECK-NEXT:    tile.workspace @step_queries : f32 [dim(0, 0), dim(0, 2), 4]
// CHECK-NEXT:    tile.workspace @step_keys
// CHECK-NEXT:    tile.workspace @step_values
// CHECK-NEXT:    tile.stage @projected__vectors role vectors {{.*}} uses [@step_queries, @step_keys, @step_values]
// CHECK-NEXT:    tile.stage @projected__step role step {{.*}} uses [@step_queries, @step_keys, @step_values]
// CHECK-NEXT:    tile.workspace @new_final
// CHECK-NEXT:    tile.stage @projected programs {{.*}} uses [@new_final]

// TWELVE-LABEL: tile.kernel @projected__step
// TWELVE:         arith.cmpi sge, %{{.*}}, %c12
// TWELVE:           tile.load %step_keys[
// TWELVE:         } else {
// TWELVE:           tile.dot
// TWELVE:           tile.recur %{{[a-z0-9]+}} key
// TWELVE-LABEL: tile.kernel @projected__vectors programs [ceildiv(dim(0, 0) - 11, 16), dim(0, 2)]

polyattn.attention @projected(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %w: tensor<4x4xf32>,
    %state: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, final: tensor<?x?x4x4xf32> in %state) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %weight = read %w : tensor<4x4xf32> -> 4x4
  %a = project %x, %weight : [4], 4x4
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %c initial %state causal normalize <none>
      {final_state, schedule = #polyattn.schedule<form = state, diagonal = scores, block = 16, feature_block = 4, quadratic_below = 0>}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}
