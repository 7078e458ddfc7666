// RUN: polyattn-opt %s --split-input-file --verify-diagnostics

// What a launcher could not compute with.

// expected-error @below {{C1: there is no stage}}
tile.entry @nothing tensors 2 inputs 1 {
}

// -----

tile.entry @stranger tensors 2 inputs 1 {
  // expected-error @below {{C1: an entry has workspaces, stages and choices only}}
  %c = arith.constant 0 : index
}

// -----

func.func private @k()
tile.entry @twice tensors 2 inputs 1 {
  tile.workspace @a : f32 [4]
  // expected-error @below {{C1: this entry has a workspace @a already}}
  tile.workspace @a : f32 [4]
  tile.stage @k programs []
}

// -----

func.func private @k()
tile.entry @again tensors 2 inputs 1 {
  tile.stage @k programs []
  // expected-error @below {{C1: this entry has a stage @k already}}
  tile.stage @k programs []
}

// -----

func.func private @k()
// expected-error @below {{C1: a head is cut by its positions or by its features, not by both}}
tile.entry @both tensors 2 inputs 1 {
  tile.stage @k programs [segments]
  tile.choose splits of dim(0, 1) {max = 8, min_positions = 0, multiple = 64}
  tile.choose segments of dim(0, 1) {block = 64, min_positions = 0, multiple = 64, prefix_cost_percent = 40, subsegments = 1}
}

// -----

tile.entry @no_kernel tensors 2 inputs 1 {
  // expected-error @below {{C2: there is no kernel @k}}
  tile.stage @k programs [dim(0, 0)]
}

// -----

func.func private @k()
tile.entry @no_workspace tensors 2 inputs 1 {
  // expected-error @below {{C2: there is no workspace @a in this entry}}
  tile.stage @k programs [dim(0, 0)] uses [@a]
}

// -----

func.func private @k()
tile.entry @no_tensor tensors 2 inputs 1 {
  // expected-error @below {{C3: the entry has 2 tensors, and no tensor 2}}
  tile.stage @k programs [dim(2, 0)]
}

// -----

func.func private @k()
tile.entry @no_choice tensors 2 inputs 1 {
  // expected-error @below {{C3: there is no choice of segments in this entry}}
  tile.stage @k programs [segments]
}

// -----

func.func private @k()
tile.entry @no_splits tensors 2 inputs 1 {
  // expected-error @below {{C3: there is no choice of splits in this entry}}
  tile.stage @k programs [] per_split
}

// -----

func.func private @k()
tile.entry @circle tensors 2 inputs 1 {
  tile.stage @k programs [parts]
  // expected-error @below {{C3: a choice depends on no other, parts here}}
  tile.choose parts of parts {bytes = 4, max = 4}
}

// -----

func.func private @k()
tile.entry @divided tensors 2 inputs 1 {
  // expected-error @below {{C4: the numbers of an extent are from 0 to 2^40}}
  tile.stage @k programs [ceildiv(dim(0, 0), 0)]
}

// -----

func.func private @k()
tile.entry @negative tensors 2 inputs 1 {
  // expected-error @below {{C4: the numbers of an extent are from 0 to 2^40}}
  tile.stage @k programs [-1]
}

// -----

func.func private @k()
tile.entry @large tensors 2 inputs 1 {
  // expected-error @below {{C4: a workspace has at most 2^40 elements}}
  tile.workspace @a : f32 [1099511627776, 1099511627776, dim(0, 0)]
  tile.stage @k programs []
}

// -----

func.func private @k()
tile.entry @element tensors 2 inputs 1 {
  // expected-error @below {{C4: a workspace holds f32, bf16, f16, i32 or i64, not 'f64'}}
  tile.workspace @a : f64 [4]
  tile.stage @k programs []
}

// -----

func.func private @k()
tile.entry @element tensors 2 inputs 1 {
  // expected-error @below {{C4: a workspace holds f32, bf16, f16, i32 or i64, not 'ui32'}}
  tile.workspace @a : ui32 [4]
  tile.stage @k programs []
}

// -----

func.func private @k()
tile.entry @rank tensors 2 inputs 1 {
  // expected-error @below {{C4: a workspace has at most 6 dimensions}}
  tile.workspace @a : f32 [1, 1, 1, 1, 1, 1, 1]
  tile.stage @k programs []
}

// -----

func.func private @k()
tile.entry @numbers tensors 2 inputs 1 {
  // expected-error @below {{C4: the numbers of a launch are i64 [4]}}
  tile.workspace @a : i64 [] fill launch
  tile.stage @k programs []
}

// -----

func.func private @k()
tile.entry @modes tensors 2 inputs 1 {
  // expected-error @below {{C4: a stage is per_split, is chained or combines splits, one of these}}
  tile.stage @k programs [] per_split chained
}

// -----

func.func private @k()
tile.entry @lacks tensors 2 inputs 1 {
  tile.stage @k programs [segments]
  // expected-error @below {{C4: a choice of segments needs block}}
  tile.choose segments of dim(0, 1) {min_positions = 0, multiple = 64, prefix_cost_percent = 40, subsegments = 1}
}

// -----

func.func private @k()
tile.entry @more tensors 2 inputs 1 {
  tile.stage @k programs [splits]
  // expected-error @below {{C4: a choice of splits has no block}}
  tile.choose splits of dim(0, 1) {block = 4, max = 8, min_positions = 0, multiple = 64}
}

// -----

func.func private @k()
tile.entry @range tensors 2 inputs 1 {
  tile.stage @k programs [splits]
  // expected-error @below {{C4: max is from 1 to 65536, not 0}}
  tile.choose splits of dim(0, 1) {max = 0, min_positions = 0, multiple = 64}
}

// -----

func.func private @k()
tile.entry @ragged tensors 2 inputs 1 {
  tile.stage @k programs [segments]
  // expected-error @below {{C4: segments are multiples of whole blocks, and 32 is less than one of 64}}
  tile.choose segments of dim(0, 1) {block = 64, min_positions = 0, multiple = 32, prefix_cost_percent = 40, subsegments = 1}
}

// -----

func.func private @k()
// expected-error @below {{C4: an entry has at most 256 tensors, of which one is a result; got 2 and 2 inputs}}
tile.entry @results tensors 2 inputs 2 {
  tile.stage @k programs []
}

// -----

tile.kernel @k attributes {arg_names = ["x", "y", "a"], num_inputs = 1} {
^bb0(%x: memref<4xf32>, %y: memref<4xf32>, %a: memref<?x8xf32>):
}
tile.entry @count tensors 2 inputs 1 {
  // expected-error @below {{C5: @k takes 3 tensors, 1 of them inputs, and the entry has 2 and 1 beside 0 workspaces}}
  tile.stage @k programs [4]
}

// -----

tile.kernel @k attributes {arg_names = ["x", "y", "a"], num_inputs = 1} {
^bb0(%x: memref<4xf32>, %y: memref<4xf32>, %a: memref<?x8xf32>):
}
tile.entry @shape tensors 2 inputs 1 {
  tile.workspace @a : f32 [dim(0, 0), 16]
  // expected-error @below {{C5: @k takes 'memref<?x8xf32>' for workspace @a}}
  tile.stage @k programs [4] uses [@a]
}

// -----

tile.kernel @k programs [dim(0, 0)] attributes {arg_names = ["x", "y"], num_inputs = 1} {
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
}
tile.entry @grid tensors 2 inputs 1 {
  // expected-error @below {{C6: @k counts its programs by [#tile.extent<dim(0, 0)>]}}
  tile.stage @k programs [4]
}

// -----

// expected-error @below {{expected a number, dim(tensor, dimension), segments, splits or parts, got 'batches'}}
tile.entry @word tensors 2 inputs 1 { tile.stage @k programs [batches] }

// -----

tile.entry @misspelt tensors 2 inputs 1 {
  // expected-error @below {{did you mean 'multiple'?}}
  tile.choose splits of dim(0, 1) {max = 8, min_positions = 0, multipel = 64}
}

// -----

// expected-error @below {{expected segments, splits or parts, got 'dim'}}
tile.entry @kind tensors 2 inputs 1 { tile.choose dim of dim(0, 1) {max = 8} }

// -----

// expected-error @below {{expected none, zero or launch, got 'ones'}}
tile.entry @ones tensors 2 inputs 1 { tile.workspace @a : f32 [4] fill ones }

// -----

// expected-error @below {{expected the role of a stage, one of main, segment_sums, segment_states, few, vectors, step, filters, combine, group_sums, weight_sums, decay_sums, state_sums, write_back, got 'prefix'}}
tile.entry @role tensors 2 inputs 1 { tile.stage @k role prefix programs [] }

// -----

func.func private @k()
func.func private @sums()
tile.entry @sums_last tensors 2 inputs 1 {
  tile.stage @k programs []
  // expected-error @below {{C7: after a stage of role segment_sums comes a main stage}}
  tile.stage @sums role segment_sums programs []
}

// -----

func.func private @k()
func.func private @groups()
tile.entry @groups_first tensors 2 inputs 1 {
  // expected-error @below {{C7: before a stage of role group_sums comes a main stage}}
  tile.stage @groups role group_sums programs []
  tile.stage @k programs []
}

// -----

func.func private @k()
func.func private @sums()
tile.entry @two_cut tensors 2 inputs 1 {
  tile.stage @sums programs [segments - 1]
  // expected-error @below {{C7: one main stage of an entry has programs of segments}}
  tile.stage @k programs [segments]
  tile.choose segments of dim(0, 1) {block = 64, min_positions = 0, multiple = 64, prefix_cost_percent = 40, subsegments = 1}
}
