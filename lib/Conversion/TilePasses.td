//===- TilePasses.td - passes to the tile dialect, and on it for all targets ===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TILE_PASSES
#define POLYATTN_TILE_PASSES

include "mlir/Pass/PassBase.td"

def ConvertPolyAttnToTile : Pass<"polyattn-to-tile", "::mlir::ModuleOp"> {
  let summary = "attentions become tile kernels";
  let description = [{
    Every `polyattn.kernel` becomes a `tile.kernel` of its name whose programs compute one batch and
    query head each: the block form of PolySketchFormer, section 3.1, the quadratic form, or blocks from
    the states of segments, as the schedules of its attends say. Features live for one block of
    positions and one block of features only.

    What its attributes `cut` and `steps` ask for becomes kernels beside it. With `subsegments = N`
    `@name__prefix` (programs: (S - 1) N, B, heads of the state) stores what the keys of each segment but
    the last add to the state, from zero, and the segment's decay; `@name` (programs: S, B, H) begins with
    the segments before its own. With S = 1 the first kernel has no programs.

    A `tile.entry` says how the kernels of each attention are launched.

    With `skip-idle-state` the bounds of products with the state are 0 terms in the first block, where
    the state is zero, and those of its update in the last block, where nobody asks for it.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
  let options = [
    Option<"skipIdleState", "skip-idle-state", "bool", "false",
           "Products with a state into which no key has come, and updates of a state that nobody will "
           "read, sum no terms">,
  ];
}

def SetPrecision : Pass<"tile-set-precision", "::mlir::ModuleOp"> {
  let summary = "products say in what a target multiplies their operands";
  let description = [{
    Every `tile.dot` and `tile.accumulate` that has no precision gets the one in which a target
    multiplies it. Lowerings read it there and choose none themselves.

    ```mlir
    %p = tile.dot %q, %k : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    ```

    with `tensor-cores`, in a kernel whose sequences are bf16, becomes

    ```mlir
    %p = tile.dot %q, %k precision <bf16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    ```

    Processors multiply in the type of the sums, f32 or f64. Tensor cores multiply matrices in the
    type of the kernel's sequences, its inputs [B, T, H, d]: bf16 in `bf16`, f16 in `tf32`, which has
    its mantissa and a range that is large enough for features, f32 in `split_tf32`, which keeps the
    precision of f32. Products of a matrix and a vector are not for tensor cores, or take a second column
    there: they are `split_bf16` beside `bf16` and else `f32`.

    A product that says `f32`, as those of an attend from whose results gradients take small differences, is
    `split_bf16` on tensor cores where all inputs or all results have 16 bits, and else `split_tf32`. So
    are all products of matrices of its kernel, and those of a kernel that reads sequences in f32.

    Numeric contract: precision-reducing, to what the storage of the sequences has.
  }];
  let options = [
    Option<"tensorCores", "tensor-cores", "bool", "false", "Multiply on a GPU's tensor cores">,
  ];
}

def ReuseWindows : Pass<"tile-reuse-windows"> {
  let summary = "loops read windows of what their kernel computes whole";
  let description = [{
    A loop over blocks of features that computes rows of a product, or an element-wise function of such
    rows, reads them from the tile of all rows where the kernel computes that too, before the loop or
    behind it:

    ```mlir
    scf.for %f = %c0 to %c256 step %c64 {
      %w = tile.slice %theta[%c0, %f] : <128x256xf32> -> <128x64xf32>
      %p = tile.dot %w, %x {lhs_transposed} : <128x64xf32>, <128x32xf32> -> <64x32xf32>
      ...
    }
    %whole = tile.dot %theta, %x {lhs_transposed} : <128x256xf32>, <128x32xf32> -> <256x32xf32>
    ```

    becomes

    ```mlir
    %whole = tile.dot %theta, %x {lhs_transposed} : <128x256xf32>, <128x32xf32> -> <256x32xf32>
    scf.for %f = %c0 to %c256 step %c64 {
      %p = tile.slice %whole[%f, %c0] : <256x32xf32> -> <64x32xf32>
      ...
    }
    ```

    Gradients need the features of a block several times, and the projections that they are made of.
    Where memory is dearer than products, as on GPUs, this is no gain. What is behind the loop under a
    condition is then computed without it.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SinkLoads : Pass<"tile-sink-loads"> {
  let summary = "what one branch reads is loaded there";
  let description = [{
    A load whose uses are all in branches of `scf.if` beside it is done in each of these that has some:

    ```mlir
    %w = tile.load %weights[%head, %c0, %c0] ...
    scf.if %isAlone {
      %y = tile.dot %w, %x ...
    } else {
      ... // reads y from a workspace
    }
    ```

    becomes

    ```mlir
    scf.if %isAlone {
      %w = tile.load %weights[%head, %c0, %c0] ...
      %y = tile.dot %w, %x ...
    } else {
      ...
    }
    ```

    and so on inside of the branch. Weights of heads are loaded where a program begins, so that its loops share them; a program
    that takes a branch without them need not wait for their memory. A load that all programs do alike stays, as it is done once
    for all, and so does one that would go past a write to its tensor.

    Numeric contract: exact.
  }];
}

def FoldFeatures : Pass<"tile-fold-features"> {
  let summary = "features of degree one are the rows that they are made of";
  let description = [{
    Features that are the rows of their source, in order, are that; where rows that are one of its parts, or constants,
    have a weight, that part is scaled:

    ```mlir
    %x = tile.concat %v, %one : <64x32xf32>, <1x32xf32> -> <65x32xf32>
    %phi = tile.monomials %x[%c0] {table = dense<[[0], [1], ..., [64]]>, weights = array<f64: 1.0, ..., -1.0>} : <65x32xf32> -> <65x32xf32>
    ```

    becomes

    ```mlir
    %minus = tile.constant -1.0 : <1x32xf32>
    %phi = tile.concat %v, %minus : <64x32xf32>, <1x32xf32> -> <65x32xf32>
    ```

    The gradients of a denominator's attend have such features. Tensor cores form features as they load them, from tables.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FoldTransposes : Pass<"tile-fold-transposes"> {
  let summary = "element-wise functions and sums read rows of tensors, and turn them once";
  let description = [{
    A transpose of what element-wise functions compute from transposes, tensors and constants:

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

    where nothing else uses the functions' values, or where they are cheap and the tensors are read both ways
    anyhow. A row that all rows of the functions share becomes a column.

    A sum over the rows of columns that nothing else reads of a tensor,

    ```mlir
    %x = tile.load %y[...] {transposed} : ... -> <64x32xf32>
    %s = tile.reduce <add> <rows> %x : <64x32xf32> -> <1x32xf32>
    ```

    with element-wise functions between them, becomes one over the columns of rows, and a function that is not cheap of both
    rows and columns of a tensor is computed of the first ones and turned.

    Numeric contract: reassociating, the sums.
  }];
}

def DropEntries : Pass<"tile-drop-entries", "::mlir::ModuleOp"> {
  let summary = "a module of functions alone, without how they are launched";
  let description = [{
    Removes every `tile.entry`. LLVM's own tools translate the LLVM dialect and know no other:

    ```
    polyattn-opt SPEC --polyattn-cpu-pipeline --tile-drop-entries | mlir-translate --mlir-to-llvmir
    ```

    Numeric contract: exact; functions stay as they are.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
}

#endif // POLYATTN_TILE_PASSES
