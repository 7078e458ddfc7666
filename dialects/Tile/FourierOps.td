//===- FourierOps.td - transforms of the columns of a tensor --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_FOURIER_OPS
#define TILE_FOURIER_OPS

include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_PowerOfTwoOp : Tile_Op<"power_of_two", [Pure]> {
  let summary = "the smallest power of two that is at least 2 and at least a number";
  let description = [{
    The number is less than 2^62.

    ```mlir
    %n = tile.power_of_two %length : index
    ```
  }];
  let arguments = (ins Index:$number);
  let results = (outs Index:$result);
  let assemblyFormat = "$number attr-dict `:` type($result)";
}

def Tile_FourierRootsOp : Tile_Op<"fourier_roots"> {
  let summary = "writes the roots of unity that `tile.fourier` of so many rows reads";
  let description = [{
    `rows` is a power of two, at least 2 and at most 2^24. For m = rows, rows / 4, rows / 16, ...,
    while m is at least 4, for k = 0, ..., m / 4 - 1 and j = 1, 2, 3, row rows - m + 3 k + j - 1 of
    the table is the root exp(-2 pi i j k / m): its real part, then its imaginary part. Each is
    within a unit in the last place of f32. The table has at most `rows` rows, and rows that have no
    root are unspecified.

    C1: the roots are f32 in a tensor of rows of two numbers.

    ```mlir
    tile.fourier_roots %roots rows %n : memref<?x2xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWrite]>:$roots, Index:$rows);
  let assemblyFormat = "$roots `rows` $rows attr-dict `:` type($roots)";
  let hasVerifier = 1;
}

def Tile_FourierOp : Tile_Op<"fourier"> {
  let summary = "the Fourier transform of each column of a tensor, in place";
  let description = [{
    The tensor is a *complex row buffer*. Its last dimension has 2 w numbers: row r of the dimension
    before it holds w complex numbers, their w real parts first, then their w imaginary parts. The
    indices are of the dimensions before the rows. The first `rows` rows are transformed, a power of
    two and at least 2. So column c is the sequence x_0, x_1, ... of rows.

    A transform leaves frequencies in the order of their reversed bits. Row rev(f) of the result is
    X_f = sum over r of x_r exp(-2 pi i f r / rows), where rev reverses the log2(rows) bits of f.
    With `inverse` the op reads X in this order, and row r of the result is the sum over f of
    X_f exp(2 pi i f r / rows). It does not divide by `rows`.

    With `half` the upper half of the sequence is padding. A transform takes rows from rows / 2 on
    as zero, and never reads them. After an inverse transform these rows are unspecified.

    `roots` has the roots of `tile.fourier_roots` for the same number of rows.

    C1: the roots are f32 in a tensor of rows of two numbers.
    C2: the tensor is of f32, with two or more dimensions, the last of an even static size.
    C3: there is an index for each dimension before the last two.

    ```mlir
    tile.fourier %x[%program] rows %n roots %roots {half} : memref<?x?x32xf32>, memref<?x2xf32>
    tile.fourier %x[%program] rows %n roots %roots {half, inverse} : memref<?x?x32xf32>, memref<?x2xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead, MemWrite]>:$memref, Variadic<Index>:$indices,
                       Index:$rows, Arg<AnyMemRef, "", [MemRead]>:$roots, UnitAttr:$inverse,
                       UnitAttr:$half);
  let assemblyFormat = [{
    $memref `[` $indices `]` `rows` $rows `roots` $roots attr-dict `:` type($memref) `,`
    type($roots)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The complex numbers of a row.
    int64_t getWidth() {
      return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()).getShape().back() / 2;
    }
  }];
}

def Tile_MultiplySpectraOp : Tile_Op<"multiply_spectra", [AttrSizedOperandSegments]> {
  let summary = "the spectra of convolutions, of the spectra of their factors";
  let description = [{
    The three tensors are complex row buffers, as `tile.fourier` has them, with spectra in the order
    that it leaves. A column holds two real sequences: it is the spectrum of a + i b. Each sequence
    of y is the circular convolution of its sequences of x and z, divided by `rows`. With
    `conjugate` it is the correlation, also divided: y_i = sum over j of z_j x_(i + j), with indices
    modulo `rows`. So an inverse transform of y gives the convolution, or correlation, itself. With
    `accumulate` the result is added to y.

    Result and factors may be the same memory, if they are the same tensor and indices.

    With F the spectrum of a + i b, A_f = (F_f + conj F_(-f)) / 2 and B_f = (F_f - conj F_(-f)) /
    (2 i). In the order of reversed bits, frequency -f is in the row of frequency f if that is 0 or
    1. Other rows p have k, their highest bit that is set, and -f is in row p xor (2^k - 1). So in
    rows 2^k to 2^(k + 1) - 1 the first and the last are a pair, then the next ones.

    C2: the tensors are of f32, with two or more dimensions, the last of an even static size.
    C3: there is an index for each dimension before the last two.
    C4: the tensors have rows of the same size.

    ```mlir
    tile.multiply_spectra %x[%program], %z[%head] to %x[%program] rows %n {conjugate}
      : memref<?x?x32xf32>, memref<?x?x32xf32>, memref<?x?x32xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$x, Variadic<Index>:$x_indices,
                       Arg<AnyMemRef, "", [MemRead]>:$z, Variadic<Index>:$z_indices,
                       Arg<AnyMemRef, "", [MemRead, MemWrite]>:$y, Variadic<Index>:$y_indices,
                       Index:$rows, UnitAttr:$conjugate, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $x `[` $x_indices `]` `,` $z `[` $z_indices `]` `to` $y `[` $y_indices `]` `rows` $rows
    attr-dict `:` type($x) `,` type($z) `,` type($y)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The complex numbers of a row.
    int64_t getWidth() {
      return ::llvm::cast<::mlir::MemRefType>(getY().getType()).getShape().back() / 2;
    }
  }];
}

#endif // TILE_FOURIER_OPS
