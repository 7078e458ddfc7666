// RUN: polyattn-opt %s --polyattn-pack-sequences --split-input-file --verify-diagnostics | FileCheck %s
// RUN: polyattn-opt %s --polyattn-pack-sequences --polyattn-pack-sequences --split-input-file --verify-diagnostics | FileCheck %s

// An argument more; once is enough.
// CHECK-LABEL: attention @plain(%q: tensor<?x?x?x4xf32>, %cu_seqlens: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) packed %cu_seqlens {
polyattn.attention @plain(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// The spec's own stay.
// CHECK-LABEL: attention @packed(%q: tensor<?x?x?x4xf32>, %at: tensor<?xi64>) -> (o: tensor<?x?x?x4xf32>) packed %at {
polyattn.attention @packed(%q: tensor<?x?x?x4xf32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>) packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{'cu_seqlens' is the name of the offsets of packed sequences, and taken}}
polyattn.attention @taken(%q: tensor<?x?x?x4xf32>) -> (cu_seqlens: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}
