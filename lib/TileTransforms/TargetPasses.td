//===- TargetPasses.td - passes that tell a target what it reads ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TILE_TARGET_PASSES
#define POLYATTN_TILE_TARGET_PASSES

include "mlir/Pass/PassBase.td"

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

#endif // POLYATTN_TILE_TARGET_PASSES
