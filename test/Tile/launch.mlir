// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s
// RUN: polyattn-opt %s --mlir-print-op-generic | polyattn-opt --canonicalize --cse --symbol-dce | FileCheck %s

// How entries are launched, in all that can be said: it stays as it is.

// CHECK-LABEL: tile.entry @segments tensors 2 inputs 1 {
// CHECK-NEXT: tile.workspace @sums : f32 [2 * (segments - 1), dim(0, 0), 16]
// CHECK-NEXT: tile.stage @sum role segment_sums programs [dim(0, 0), 2 * (segments - 1)] uses [@sums]
// CHECK-NEXT: tile.stage @main programs [dim(0, 0), segments] uses [@sums]
// CHECK-NEXT: tile.choose segments of dim(0, 1) {block = 64 : i64, min_positions = 300 : i64, multiple = 128 : i64, prefix_cost_percent = 40 : i64, subsegments = 2 : i64}
// CHECK-NEXT: }
tile.entry @segments tensors 2 inputs 1 {
  tile.workspace @sums : f32 [2 * (segments - 1), dim(0, 0), 16]
  tile.stage @sum role segment_sums programs [dim(0, 0), 2 * (segments - 1)] uses [@sums]
  tile.stage @main programs [dim(0, 0), segments] uses [@sums]
  tile.choose segments of dim(0, 1) {block = 64, min_positions = 300, multiple = 128, prefix_cost_percent = 40, subsegments = 2}
}

// CHECK-LABEL: tile.entry @splits
// CHECK-NEXT: tile.workspace @partial : f32 [splits, dim(0, 0), 8]
// CHECK-NEXT: tile.workspace @launch : i64 [4] fill launch
// CHECK-NEXT: tile.stage @main programs [dim(0, 0)] uses [@partial, @launch] per_split
// CHECK-NEXT: tile.stage @sum role combine programs [dim(0, 0)] uses [@partial, @launch]
tile.entry @splits tensors 2 inputs 1 {
  tile.workspace @partial : f32 [splits, dim(0, 0), 8]
  tile.workspace @launch : i64 [4] fill launch
  tile.stage @main programs [dim(0, 0)] uses [@partial, @launch] per_split
  tile.stage @sum role combine programs [dim(0, 0)] uses [@partial, @launch]
  tile.choose splits of dim(0, 1) {max = 8, min_positions = 0, multiple = 64}
}

// Gradients of weights: sums of parts, and a stage that adds them up.
// CHECK-LABEL: tile.entry @parts
// CHECK-NEXT: tile.workspace @dw : f32 [parts, 4, 256, 64]
// CHECK-NEXT: tile.stage @main programs [parts] uses [@dw]
// CHECK-NEXT: tile.stage @sum role weight_sums programs [1024] uses [@dw]
tile.entry @parts tensors 2 inputs 1 {
  tile.workspace @dw : f32 [parts, 4, 256, 64]
  tile.stage @main programs [parts] uses [@dw]
  tile.stage @sum role weight_sums programs [1024] uses [@dw]
  tile.choose parts of dim(0, 0) {bytes = 262144, max = 64}
}

// States in a chain: programs of groups of 64 positions, which wait for each other. And programs of
// the rows of a table, which are one fewer than what it holds.
// CHECK-LABEL: tile.entry @chain
// CHECK-NEXT: tile.workspace @ring : f32 [16, 4096]
// CHECK-NEXT: tile.workspace @flags : i32 [16, 2] fill zero
// CHECK-NEXT: tile.stage @main programs [ceildiv(dim(0, 1) + 3, 64), 3 * ceildiv(dim(0, 0), 2), dim(1, 0) - 1] uses [@ring, @flags] chained
tile.entry @chain tensors 2 inputs 1 {
  tile.workspace @ring : f32 [16, 4096]
  tile.workspace @flags : i32 [16, 2] fill zero
  tile.stage @main programs [ceildiv(dim(0, 1) + 3, 64), 3 * ceildiv(dim(0, 0), 2), dim(1, 0) - 1] uses [@ring, @flags] chained
}

// What comes before the main stage, in calls of few tokens, and after it. `main` is not written.
// CHECK-LABEL: tile.entry @roles
// CHECK-NEXT: tile.stage @few role few programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @vectors role vectors programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @step role step programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @states role segment_states programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @main programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @sum role group_sums programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @decay role decay_sums programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @state role state_sums programs [dim(0, 0)]
// CHECK-NEXT: tile.stage @write_back role write_back programs [dim(0, 0)]
tile.entry @roles tensors 2 inputs 1 {
  tile.stage @few role few programs [dim(0, 0)]
  tile.stage @vectors role vectors programs [dim(0, 0)]
  tile.stage @step role step programs [dim(0, 0)]
  tile.stage @states role segment_states programs [dim(0, 0)]
  tile.stage @main role main programs [dim(0, 0)]
  tile.stage @sum role group_sums programs [dim(0, 0)]
  tile.stage @decay role decay_sums programs [dim(0, 0)]
  tile.stage @state role state_sums programs [dim(0, 0)]
  tile.stage @write_back role write_back programs [dim(0, 0)]
}

func.func private @few()
func.func private @vectors()
func.func private @step()
func.func private @states()
func.func private @decay()
func.func private @state()
func.func private @write_back()
func.func @main() {
  return
}
func.func @sum() {
  return
}
