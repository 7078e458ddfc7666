// RUN: polyattn-opt %s --polyattn-share-features="most-parts=8 bytes=65536" | FileCheck %s
// RUN: polyattn-opt %s --polyattn-share-features="most-parts=2 bytes=65536" | FileCheck %s --check-prefix=TWO
// RUN: polyattn-opt %s --polyattn-share-features | FileCheck %s --check-prefix=NONE
// NONE-NOT: feature_parts

// The gradients of a query and of its weight: 512 columns are 128 KiB, and two programs have half.
// CHECK-LABEL: polyattn.attention @gradient
// CHECK-SAME:    polyattn.feature_parts = 2
// CHECK:         %[[W:.*]] = read %w : tensor<64x512xf32> -> 64x256
// CHECK:         project %{{.*}}, %[[W]] : [64], 64x256
// CHECK:         attend {{.*}} : [64], [64], [256]
// CHECK:         project %{{.*}}, %[[W]] {transposed} : [256], 64x256
// CHECK:         %[[D:.*]] = weight_gradient {{.*}} : ([64], [256])
// CHECK:         return %{{.*}}, %[[D]] : [64], 64x256
// TWO:           polyattn.feature_parts = 2
polyattn.attention @gradient(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>,
    %d_o: tensor<?x?x?x64xf32>, %w: tensor<64x512xf32>)
    -> (d_q: tensor<?x?x?x64xf32>, d_w: tensor<64x512xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %y = read %k : tensor<?x?x?x64xf32> -> [64]
  %do = read %d_o : tensor<?x?x?x64xf32> -> [64]
  %a = read %w : tensor<64x512xf32> -> 64x512
  %phi = project %y, %a : [64], 64x512
  %dphi = attend query %do key %y value %phi causal normalize <none> : [64], [64], [512]
  %dx = project %dphi, %a {transposed} : [512], 64x512
  %dw = weight_gradient (%x, %dphi) : ([64], [512])
  return %dx, %dw : [64], 64x512
}

// Scores of features are sums over the programs, and so are rows of values.
// CHECK-LABEL: polyattn.attention @terms
// CHECK-SAME:    polyattn.feature_parts = 2
// CHECK:         attend {{.*}} : [256], [256], [64]
polyattn.attention @terms(%q: tensor<?x?x?x64xf32>, %w: tensor<64x512xf32>)
    -> (o: tensor<?x?x?x64xf32>, d_w: tensor<64x512xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %a = read %w : tensor<64x512xf32> -> 64x512
  %phi = project %x, %a : [64], 64x512
  %o = attend query %phi key %phi value %x causal normalize <none> : [512], [512], [64]
  %dw = weight_gradient (%x, %phi) : ([64], [512])
  return %o, %dw : [64], 64x512
}

// A quotient is no sum over programs.
// CHECK-LABEL: polyattn.attention @quotient
// CHECK-NOT:     feature_parts
// CHECK:         attend {{.*}} : [512], [512], [64]
polyattn.attention @quotient(%q: tensor<?x?x?x64xf32>, %w: tensor<64x512xf32>)
    -> (o: tensor<?x?x?x64xf32>, d_w: tensor<64x512xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %a = read %w : tensor<64x512xf32> -> 64x512
  %phi = project %x, %a : [64], 64x512
  %o = attend query %phi key %phi value %x causal normalize <bias, bias = 1.0> {signed_scores} : [512], [512], [64]
  %dw = weight_gradient (%x, %phi) : ([64], [512])
  return %o, %dw : [64], 64x512
}

// Every program would return the same row.
// CHECK-LABEL: polyattn.attention @whole
// CHECK-NOT:     feature_parts
// CHECK:         project %{{.*}} : [64], 64x512
polyattn.attention @whole(%q: tensor<?x?x?x64xf32>, %w: tensor<64x512xf32>)
    -> (o: tensor<?x?x?x64xf32>, d_w: tensor<64x512xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %a = read %w : tensor<64x512xf32> -> 64x512
  %phi = project %x, %a : [64], 64x512
  %o = attend query %x key %x value %x causal normalize <none> : [64], [64], [64]
  %dw = weight_gradient (%x, %phi) : ([64], [512])
  return %o, %dw : [64], 64x512
}

// 256 columns are 64 KiB, which one program has.
// CHECK-LABEL: polyattn.attention @small
// CHECK-NOT:     feature_parts
// CHECK:         project %{{.*}} : [64], 64x256
polyattn.attention @small(%q: tensor<?x?x?x64xf32>, %w: tensor<64x256xf32>)
    -> (o: tensor<?x?x?x64xf32>, d_w: tensor<64x256xf32>) {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %a = read %w : tensor<64x256xf32> -> 64x256
  %phi = project %x, %a : [64], 64x256
  %o = attend query %phi key %phi value %x causal normalize <none> : [256], [256], [64]
  %dw = weight_gradient (%x, %phi) : ([64], [256])
  return %o, %dw : [64], 64x256
}
