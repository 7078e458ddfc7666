// RUN: polyattn-opt %s --polyattn-form-kernels --polyattn-cut-kernels --split-input-file --verify-diagnostics | FileCheck %s


// What is computed channel by channel is computed by the kernel of the convolution that gives its last operand. Arguments are read as
// they are, and the results of convolutions pass between kernels.
// CHECK-LABEL: @chain
// CHECK: %[[A:.*]] = read %q
// CHECK: %[[H:.*]] = read %h
// CHECK: %[[X:.*]]:2 = kernel @chain__convolution0 cut <channels = 4> {
// CHECK-NEXT: %[[C:.*]] = convolve %[[A]], %[[H]]
// CHECK-NEXT: %[[E:.*]] = exp %[[C]]
// CHECK-NEXT: kernel_yield %[[E]], %[[C]]
// CHECK: %[[Y:.*]] = kernel @chain__convolution1 cut <channels = 4> {
// CHECK-NEXT: %[[M:.*]] = hadamard %[[A]], %[[X]]#1
// CHECK-NEXT: convolve %[[M]], %[[H]] {circular, reversed}
// CHECK: return %[[Y]], %[[X]]#0, %[[X]]#1
polyattn.attention @chain(%q: tensor<?x?x?x4xf32>, %h: tensor<?x9x4xf32>)
    -> (y: tensor<?x?x?x4xf32>, e: tensor<?x?x?x4xf32>, x: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %f = read %h : tensor<?x9x4xf32> -> 9x4
  %x = convolve %a, %f : [4], 9x4
  %m = hadamard %a, %x : [4], [4]
  %e = exp %x : [4]
  %y = convolve %m, %f {circular, reversed} : [4], 9x4
  return %y, %e, %x : [4], [4], [4]
}

// -----

// What is computed from all channels is a kernel of rows, before a convolution and behind it. A convolution that nobody takes has no
// kernel.
// CHECK-LABEL: @rows
// CHECK: %[[T:.*]] = read %t
// CHECK: %[[N:.*]] = l2_norm
// CHECK: %[[R:.*]]:2 = kernel @rows__rows0 cut <blocks = true> {
// CHECK-NEXT: kernel_yield %[[N]], %[[T]]
// CHECK: %[[X:.*]] = kernel @rows__convolution0 cut <channels = 4> {
// CHECK-NEXT: convolve %[[R]]#0
// CHECK: %[[Y:.*]] = kernel @rows__convolution1 cut <channels = 4> {
// CHECK-NEXT: convolve %[[R]]#1
// CHECK: %[[Z:.*]] = kernel @rows__rows1 cut <blocks = true> {
// CHECK-NEXT: %[[S:.*]] = sum %[[X]]
// CHECK-NEXT: %[[M:.*]] = hadamard %[[S]], %[[Y]]
// CHECK-NEXT: kernel_yield %[[M]]
// CHECK-NOT: kernel
// CHECK: return %[[Z]]
polyattn.attention @rows(%q: tensor<?x?x?x4xf32>, %t: tensor<?x1x4xf32>, %h: tensor<9x4xf32>) -> (z: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %p = read %t : tensor<?x1x4xf32> -> [4]
  %f = read %h : tensor<9x4xf32> -> 9x4
  %n = l2_norm %a {eps = 1.0} : [4]
  %x = convolve %n, %f : [4], 9x4
  %y = convolve %p, %f : [4], 9x4
  %unused = convolve %a, %f : [4], 9x4
  %s = sum %x : [4]
  %z = hadamard %s, %y : [1], [4]
  return %z : [4]
}

// -----

// The gradients of weights are sums of a kernel of rows, those of filters have kernels of their own. A program has an even number of
// channels that divides theirs; an odd number of channels has programs of an odd number.
// CHECK-LABEL: @gradients
// CHECK: %[[A:.*]] = read %q
// CHECK: %[[E:.*]] = exp %[[A]]
// CHECK: %[[R:.*]] = kernel @gradients__rows0 cut <parts = 64> {
// CHECK: weight_gradient
// CHECK: %[[SUM:.*]] = sum_weights %[[R]] plus %before
// CHECK: %[[F:.*]] = kernel @gradients__filter0 cut <channels = 22> {
// CHECK-NEXT: filter_gradient (%[[A]], %[[E]]) plus %sum {lags = 9}
// CHECK: %[[Y:.*]] = kernel @gradients__convolution0 cut <channels = 22> {
// CHECK: return %[[Y]], %[[SUM]], %[[F]]
polyattn.attention @gradients(%q: tensor<?x?x?x44xf32>, %h: tensor<9x44xf32>, %before: tensor<44xf32>, %sum: tensor<9x44xf32>)
    -> (y: tensor<?x?x?x44xf32>, dw: tensor<44xf32> in %before, dh: tensor<9x44xf32> in %sum) {
  %a = read %q : tensor<?x?x?x44xf32> -> [44]
  %f = read %h : tensor<9x44xf32> -> 9x44
  %e = exp %a : [44]
  %y = convolve %e, %f : [44], 9x44
  %dw = weight_gradient %a plus %before : [44] plus tensor<44xf32>
  %dh = filter_gradient (%a, %e) plus %sum {lags = 9} : ([44], [44]) plus tensor<9x44xf32>
  return %y, %dw, %dh : [44], 44, 9x44
}

// -----

// CHECK-LABEL: @odd
// CHECK: kernel @odd__convolution0 cut <channels = 11> {
polyattn.attention @odd(%q: tensor<?x?x?x33xf32>, %h: tensor<9xf32>) -> (y: tensor<?x?x?x33xf32>) {
  %a = read %q : tensor<?x?x?x33xf32> -> [33]
  %f = read %h : tensor<9xf32> -> 9
  %y = convolve %a, %f : [33], 9
  return %y : [33]
}

// -----

polyattn.attention @beside(%q: tensor<?x?x?x4xf32>, %h: tensor<9x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %f = read %h : tensor<9x4xf32> -> 9x4
  %y = convolve %a, %f : [4], 9x4
  // expected-error@+1 {{stands beside a convolution, which needs an entry of its own}}
  %o = attend query %a key %a value %y causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{has convolutions, which are not compiled for packed sequences}}
polyattn.attention @packed(%q: tensor<?x?x?x4xf32>, %h: tensor<9x4xf32>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x4xf32>) packed %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %f = read %h : tensor<9x4xf32> -> 9x4
  %y = convolve %a, %f : [4], 9x4
  return %y : [4]
}
