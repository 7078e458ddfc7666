// In a module that is invariant no launch cuts a head: neither its positions nor its features.
// RUN: polyattn-opt %specs/linear.mlir --polyattn-cpu-pipeline="stop-after=tile target=x86-64-v3" | FileCheck %s --check-prefix=CUT
// RUN: sed 's/^\/\/ .*//' %specs/linear.mlir > %t.body
// RUN: (echo 'module attributes {polyattn.invariant} {'; cat %t.body; echo '}') > %t.mlir
// RUN: polyattn-opt %t.mlir --polyattn-cpu-pipeline="stop-after=tile target=x86-64-v3" | FileCheck %s
// RUN: polyattn-opt %t.mlir --polyattn-nvptx-pipeline="stop-after=tile target=sm_90" | FileCheck %s
// RUN: polyattn-compile %specs/linear.mlir --entry linear --invariant --target x86-64-v3 --emit tile -o - | FileCheck %s

// CUT: tile.kernel @linear__prefix
// CUT: tile.choose segments

// CHECK-NOT: tile.choose
// CHECK: tile.kernel @linear{{ }}
// CHECK-NOT: __prefix
// CHECK-NOT: tile.choose
