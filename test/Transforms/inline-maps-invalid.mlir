// RUN: not polyattn-opt --polyattn-inline-maps %s 2>&1 | FileCheck %s

// CHECK: the feature map @loop applies itself
polyattn.feature_map @loop(%x: [4]) {
  %y = apply @loop(%x) : [4] -> [4]
  yield %y : [4]
}
polyattn.attention @a(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %y = apply @loop(%q) : tensor<?x?x?x4xf32> -> [4]
  return %y : [4]
}
