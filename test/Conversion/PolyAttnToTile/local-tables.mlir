// RUN: polyattn-opt %s --polyattn-direction-pipeline="direction=backward wrt=b" --polyattn-cpu-pipeline="stop-after=tile target=x86-64-v3" | FileCheck %s

// The gradient of a table in local blocks takes the pairs of a block with itself, and no others: its
// time grows with the length.
// CHECK-LABEL: tile.kernel @in_blocks__backward programs
// CHECK:       tile.diagonal_sums
// CHECK-NOT:   tile.diagonal_sums
polyattn.attention @in_blocks<d = 16, dv = 24, distances = 20, n = 64>(
    q, k: seq[d], v: seq[dv], b: weight[distances]) {
  c = relative(b, beyond = last)
  return attend(q, k, v) causal normalize none local(concat(q, c), concat(k, c)) block n
}

// That of a table beside local blocks takes those of the blocks before.
// CHECK-LABEL: tile.kernel @beside_blocks__backward programs
// CHECK:       scf.for {{.*}} step %c64
// CHECK:         tile.diagonal_sums
polyattn.attention @beside_blocks<d = 16, dv = 24, distances = 20, n = 64>(
    q, k: seq[d], v: seq[dv], b: weight[distances]) {
  c = relative(b, beyond = last)
  return attend(concat(q, c), concat(k, c), v) causal normalize none local(q, k) block n
}
