// RUN: polyattn-opt %s --split-input-file --verify-diagnostics

func.func @roots_of_f64(%r: memref<?x2xf64>, %n: index) {
  // expected-error @below {{C1: roots are memref<?x2xf32>, not 'memref<?x2xf64>'}}
  tile.fourier_roots %r rows %n : memref<?x2xf64>
  return
}

// -----

func.func @roots_of_three(%x: memref<?x32xf32>, %r: memref<?x3xf32>, %n: index) {
  // expected-error @below {{C1: roots are memref<?x2xf32>, not 'memref<?x3xf32>'}}
  tile.fourier %x[] rows %n roots %r : memref<?x32xf32>, memref<?x3xf32>
  return
}

// -----

func.func @odd(%x: memref<?x31xf32>, %r: memref<?x2xf32>, %n: index) {
  // expected-error @below {{C2: rows of complex numbers are f32 of an even static size, not 'memref<?x31xf32>'}}
  tile.fourier %x[] rows %n roots %r : memref<?x31xf32>, memref<?x2xf32>
  return
}

// -----

func.func @dynamic(%x: memref<?x?xf32>, %r: memref<?x2xf32>, %n: index) {
  // expected-error @below {{C2: rows of complex numbers are f32 of an even static size, not 'memref<?x?xf32>'}}
  tile.fourier %x[] rows %n roots %r : memref<?x?xf32>, memref<?x2xf32>
  return
}

// -----

func.func @no_rows(%x: memref<32xf32>, %r: memref<?x2xf32>, %n: index) {
  // expected-error @below {{C2: rows of complex numbers are f32 of an even static size, not 'memref<32xf32>'}}
  tile.fourier %x[] rows %n roots %r : memref<32xf32>, memref<?x2xf32>
  return
}

// -----

func.func @bf16(%x: memref<?x32xbf16>, %z: memref<?x32xf32>, %n: index) {
  // expected-error @below {{C2: rows of complex numbers are f32 of an even static size, not 'memref<?x32xbf16>'}}
  tile.multiply_spectra %z[], %x[] to %z[] rows %n : memref<?x32xf32>, memref<?x32xbf16>, memref<?x32xf32>
  return
}

// -----

func.func @indices(%x: memref<?x?x32xf32>, %r: memref<?x2xf32>, %n: index) {
  // expected-error @below {{C3: expected 1 indices before the rows, got 2}}
  tile.fourier %x[%n, %n] rows %n roots %r : memref<?x?x32xf32>, memref<?x2xf32>
  return
}

// -----

func.func @indices_of_result(%x: memref<?x?x32xf32>, %n: index) {
  // expected-error @below {{C3: expected 1 indices before the rows, got 0}}
  tile.multiply_spectra %x[%n], %x[%n] to %x[] rows %n : memref<?x?x32xf32>, memref<?x?x32xf32>, memref<?x?x32xf32>
  return
}

// -----

func.func @widths(%x: memref<?x32xf32>, %z: memref<?x16xf32>, %n: index) {
  // expected-error @below {{C4: rows of 16 and of 32 numbers}}
  tile.multiply_spectra %x[], %z[] to %x[] rows %n : memref<?x32xf32>, memref<?x16xf32>, memref<?x32xf32>
  return
}

// -----

tile.kernel @transformed_input attributes {arg_names = ["x", "r"], num_inputs = 1} {
^bb0(%x: memref<8x32xf32>, %r: memref<8x2xf32>):
  %n = arith.constant 8 : index
  // expected-error @below {{updates an input}}
  tile.fourier %x[] rows %n roots %r : memref<8x32xf32>, memref<8x2xf32>
}

// -----

tile.kernel @roots_in_an_input attributes {arg_names = ["r"], num_inputs = 1} {
^bb0(%r: memref<8x2xf32>):
  %n = arith.constant 8 : index
  // expected-error @below {{updates an input}}
  tile.fourier_roots %r rows %n : memref<8x2xf32>
}

// -----

tile.kernel @product_in_an_input attributes {arg_names = ["x", "y"], num_inputs = 1} {
^bb0(%x: memref<8x32xf32>, %y: memref<8x32xf32>):
  %n = arith.constant 8 : index
  // expected-error @below {{updates an input}}
  tile.multiply_spectra %y[], %y[] to %x[] rows %n : memref<8x32xf32>, memref<8x32xf32>, memref<8x32xf32>
}
