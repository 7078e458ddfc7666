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

#endif // POLYATTN_TILE_FOLD_PASSES
