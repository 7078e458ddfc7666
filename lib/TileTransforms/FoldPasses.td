//===- FoldPasses.td - passes on what tile kernels compute ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TILE_FOLD_PASSES
#define POLYATTN_TILE_FOLD_PASSES

include "mlir/Pass/PassBase.td"

def FoldTransposes : Pass<"tile-fold-transposes"> {
  let summary = "element-wise functions and sums read rows of tensors, and transpose them once";
  let description = [{
    A transpose of element-wise functions of transposes, tensors and constants:

    ```mlir
    %t = tile.transpose %o : <32x64xf32> -> <64x32xf32>
    %x = tile.load %q[...] {transposed} : ... -> <64x32xf32>
    %y = tile.map %t, %x ... -> <64x32xf32>
    %z = tile.transpose %y : <64x32xf32> -> <32x64xf32>
    ```

    becomes

    ```mlir
    %x = tile.load %q[...] : ... -> <32x64xf32>
    %z = tile.map %o, %x ... -> <32x64xf32>
    ```

    This needs functions whose values nothing else uses. It also applies if they are cheap and the
    tensors are read both ways anyway. A row that all rows of the functions share becomes a column.

    A sum over the rows of columns of a tensor that are read for nothing else,

    ```mlir
    %x = tile.load %y[...] {transposed} : ... -> <64x32xf32>
    %s = tile.reduce <add> <rows> %x : <64x32xf32> -> <1x32xf32>
    ```

    with element-wise functions between them, becomes a sum over the columns of rows. A function
    that is not cheap, of both rows and columns of a tensor, is computed from the rows and
    transposed.

    Numeric contract: reassociating, the sums.
  }];
}

def FuseWindows : Pass<"tile-fuse-windows"> {
  let summary = "loops compute windows of features that are never read as a whole";
  let description = [{
    A loop over blocks of features reads rows of features and projections that its kernel computes
    as a whole. If nothing reads the whole, each iteration computes its own rows:

    ```mlir
    %whole = tile.dot %theta, %x {lhs_transposed} : <128x256xf32>, <128x32xf32> -> <256x32xf32>
    scf.for %f = %c0 to %c256 step %c64 {
      %p = tile.slice %whole[%f, %c0] : <256x32xf32> -> <64x32xf32>
      ...
    }
    ```

    becomes

    ```mlir
    scf.for %f = %c0 to %c256 step %c64 {
      %w = tile.slice %theta[%c0, %f] : <128x256xf32> -> <128x64xf32>
      %p = tile.dot %w, %x {lhs_transposed} : <128x64xf32>, <128x32xf32> -> <64x32xf32>
      ...
    }
    ```

    The same applies to rows of element-wise functions. Gradients also read some features as a
    whole: these loops read windows of the whole that exists before the loop. With `reuse-later`
    they also do so if the whole is read after the loop. On GPUs, where memory costs more than
    products, the whole is then computed by its first reader.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    Option<"reuseLater", "reuse-later", "bool", "false",
           "Keep features that are read as a whole after the loop in which a window is">,
  ];
}

#endif // POLYATTN_TILE_FOLD_PASSES
