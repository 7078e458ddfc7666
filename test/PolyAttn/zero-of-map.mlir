// RUN: polyattn-opt %s | FileCheck %s
// RUN: polyattn-run %s --random B=1,T=50,H=2 --check

// A map may give the constant 0, by which an attend has its local pairs alone (attend, C4).

polyattn.feature_map @none(%x: [8]) {
  %z = constant {value = 0.0, width = 1}
  yield %z : [1]
}

// CHECK-LABEL: polyattn.attention @local_alone
//       CHECK: attend
polyattn.attention @local_alone(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = apply @none(%a) : [8] -> [1]
  %aa = power 2 %a {symmetric} : [8]
  %bb = power 2 %b {symmetric} : [8]
  %o = attend query %z key %z value %b local %aa, %bb causal normalize <none> {block = 4} : [1], [1], [8], sym 2 [8], sym 2 [8]
  return %o : [8]
}
