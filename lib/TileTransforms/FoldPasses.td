//===- FoldPasses.td - passes on what tile kernels compute ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TILE_FOLD_PASSES
#define POLYATTN_TILE_FOLD_PASSES

include "mlir/Pass/PassBase.td"

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

def MoveScales : Pass<"tile-move-scales"> {
  let summary = "scaled operands of split products are multiplied as memory has them";
  let description = [{
    A product with a split precision multiplies each operand as the sum of two numbers. An operand
    that is loaded from a tensor of 16 bits is exactly one number, but not once it is scaled. So a
    scale of its rows or columns moves elsewhere:

    - A scale along the rows or columns of the result scales the result, if nothing is accumulated.
    - A scale along the sum scales the other operand, if that one is two numbers anyway and no other
      op uses it.

    ```mlir
    %x = tile.load %d_o[...] : memref<...xbf16> -> <64x64xf32>
    %s = tile.map %x, %factors : <64x64xf32>, <64x1xf32> -> <64x64xf32> { a product }
    %y = tile.dot %p, %s acc %sum : <64x64xf32> precision <split_bf16>
    ```

    becomes

    ```mlir
    %x = tile.load %d_o[...] : memref<...xbf16> -> <64x64xf32>
    %t = tile.transpose %factors : <64x1xf32> -> <1x64xf32>
    %q = tile.map %p, %t : <64x64xf32>, <1x64xf32> -> <64x64xf32> { a product }
    %y = tile.dot %q, %x acc %sum : <64x64xf32> precision <split_bf16>
    ```

    Numeric contract: products of the same numbers in another order; nothing is rounded that was not.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // POLYATTN_TILE_FOLD_PASSES
