// RUN: not polyattn-opt %s --polyattn-to-tile --split-input-file 2>&1 | FileCheck %s

polyattn.feature_map @id(%x: [4]) {
  yield %x : [4]
}
// CHECK: error: feature maps must be inlined first
polyattn.attention @not_inlined(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = apply @id(%q) : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: an attend of what another attend computes needs an entry of its own
polyattn.attention @chained(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %x = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  %o = attend query %a key %x value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// CHECK: error: there is no `attend` in this attention
polyattn.attention @empty(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}
