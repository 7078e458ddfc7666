// RUN: polyattn-opt %s --polyattn-block-powers --cse --canonicalize | FileCheck %s
// RUN: polyattn-opt %s --polyattn-block-powers="block=16 growth=1.25" --cse --canonicalize | FileCheck %s --check-prefix=SIXTEEN
// RUN: not polyattn-opt %s --polyattn-block-powers=block=0 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: blocks have at least one number, and powers do not shrink in them

// Both sides; 640 features for 528.
// CHECK-LABEL: attention @scores
// CHECK: %[[Q:.*]] = power 2 %{{.*}} {block = 8, symmetric} : [32]
// CHECK: %[[K:.*]] = power 2 %{{.*}} {block = 8, symmetric} : [32]
// CHECK: attend query %[[Q]] key %[[K]]
// CHECK-SAME: : sym 2 block 8 [32], sym 2 block 8 [32], [4]
// 768 are too many.
// SIXTEEN-LABEL: attention @scores
// SIXTEEN-NOT: block = 16
// SIXTEEN-LABEL: attention @scaled
polyattn.attention @scores(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x4xbf16>)
    -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %q : tensor<?x?x?x32xbf16> -> [32]
  %y = read %k : tensor<?x?x?x32xbf16> -> [32]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %phi_q = power 2 %x {symmetric} : [32]
  %phi_k = power 2 %y {symmetric} : [32]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [32], sym 2 [32], [4]
  return %o : [4]
}

// Through a scale; and smaller blocks for larger ones.
// CHECK-LABEL: attention @scaled
// CHECK: power 2 %{{.*}} {block = 8, symmetric} : [32]
// CHECK: scale %{{.*}} : sym 2 block 8 [32]
// CHECK: sym 2 block 8 [32], sym 2 block 8 [32], [4]
polyattn.attention @scaled(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x4xbf16>)
    -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %q : tensor<?x?x?x32xbf16> -> [32]
  %y = read %k : tensor<?x?x?x32xbf16> -> [32]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %h = power 2 %x {block = 16, symmetric} : [32]
  %phi_q = scale %h {factor = 0.5} : sym 2 block 16 [32]
  %phi_k = power 2 %y {block = 16, symmetric} : [32]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 block 16 [32], sym 2 block 16 [32], [4]
  return %o : [4]
}

// Features of a state are as they are written, those of 8 numbers would be 64 for 36, and those of degree three are
// no outer products.
// CHECK-LABEL: attention @state
// CHECK-NOT: block = 8
polyattn.attention @state(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x4xbf16>)
    -> (o: tensor<?x?x?x4xbf16>, s: tensor<?x?x528x4xf32>) {
  %x = read %q : tensor<?x?x?x32xbf16> -> [32]
  %y = read %k : tensor<?x?x?x32xbf16> -> [32]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %phi_q = power 2 %x {symmetric} : [32]
  %phi_k = power 2 %y {symmetric} : [32]
  %o:2 = attend query %phi_q key %phi_k value %values causal normalize <none>
      {final_state, grouping = #polyattn.grouping<block>}
    : sym 2 [32], sym 2 [32], [4]
  return %o#0, %o#1 : [4], tensor<?x?x528x4xf32>
}

// CHECK-LABEL: attention @few
// CHECK-NOT: block = 8
polyattn.attention @few(%q: tensor<?x?x?x8xbf16>, %k: tensor<?x?x?x8xbf16>, %v: tensor<?x?x?x4xbf16>)
    -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %q : tensor<?x?x?x8xbf16> -> [8]
  %y = read %k : tensor<?x?x?x8xbf16> -> [8]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %phi_q = power 2 %x {symmetric} : [8]
  %phi_k = power 2 %y {symmetric} : [8]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [8], sym 2 [8], [4]
  return %o : [4]
}

// CHECK-LABEL: attention @cubes
// CHECK-NOT: block = 8
polyattn.attention @cubes(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x4xbf16>)
    -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %q : tensor<?x?x?x32xbf16> -> [32]
  %y = read %k : tensor<?x?x?x32xbf16> -> [32]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %phi_q = power 3 %x {symmetric} : [32]
  %phi_k = power 3 %y {symmetric} : [32]
  %o = attend query %phi_q key %phi_k value %values causal normalize <none>
      {grouping = #polyattn.grouping<block>}
    : sym 3 [32], sym 3 [32], [4]
  return %o : [4]
}

// Where 192 for 136 are formed in registers, they take less than what goes through memory; in f32 nothing is.
// CHECK-LABEL: attention @sixteen
// CHECK: sym 2 block 8 [16], sym 2 block 8 [16], [4]
polyattn.attention @sixteen(%q: tensor<?x?x?x16xbf16>, %k: tensor<?x?x?x16xbf16>, %v: tensor<?x?x?x4xbf16>)
    -> (o: tensor<?x?x?x4xbf16>) {
  %x = read %q : tensor<?x?x?x16xbf16> -> [16]
  %y = read %k : tensor<?x?x?x16xbf16> -> [16]
  %values = read %v : tensor<?x?x?x4xbf16> -> [4]
  %phi_q = power 2 %x {symmetric} : [16]
  %phi_k = power 2 %y {symmetric} : [16]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [16], sym 2 [16], [4]
  return %o : [4]
}

// CHECK-LABEL: attention @f32
// CHECK-NOT: block = 8
polyattn.attention @f32(%q: tensor<?x?x?x32xf32>, %k: tensor<?x?x?x32xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x32xf32> -> [32]
  %y = read %k : tensor<?x?x?x32xf32> -> [32]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %phi_q = power 2 %x {symmetric} : [32]
  %phi_k = power 2 %y {symmetric} : [32]
  %o = attend query %phi_q key %phi_k value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : sym 2 [32], sym 2 [32], [4]
  return %o : [4]
}
