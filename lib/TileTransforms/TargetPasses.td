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
  let summary = "products get the precision in which a target multiplies";
  let description = [{
    Every `tile.dot` and `tile.accumulate` without a precision gets the one in which a target
    multiplies it. Lowerings read it there and choose none themselves.

    ```mlir
    %p = tile.dot %q, %k : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    ```

    with `tensor-cores`, in a kernel whose sequences are bf16, becomes

    ```mlir
    %p = tile.dot %q, %k precision <bf16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    ```

    Processors multiply in the type of the sums, f32 or f64. Tensor cores multiply matrices in the
    type of the kernel's sequences, its inputs [B, T, H, d]:

    | sequences | precision | |
    |---|---|---|
    | bf16 | `bf16` | |
    | f16 | `tf32` | has the mantissa of f16 and a range that is large enough for features |
    | f32 | `split_tf32` | keeps the precision of f32; `split_bf16` if all results have 16 bits |

    Products of a matrix and a vector do not run on tensor cores, or take a second column there.
    They are `split_bf16` beside `bf16`, and otherwise `f32`.

    A product with precision `f32` becomes `split_bf16` on tensor cores if all inputs or all results
    have 16 bits, and `split_tf32` otherwise. An attend has such products if gradients take small
    differences of its results. All other products of matrices of the same kernel, and of a kernel
    that reads sequences in f32, are treated the same way.

    Numeric contract: precision-reducing, to the storage type of the sequences.
  }];
  let options = [
    Option<"tensorCores", "tensor-cores", "bool", "false", "Multiply on a GPU's tensor cores">,
  ];
}

def DropEntries : Pass<"tile-drop-entries", "::mlir::ModuleOp"> {
  let summary = "a module of functions alone, without how they are launched";
  let description = [{
    Removes every `tile.entry`. LLVM's own tools translate the LLVM dialect and accept no other:

    ```
    polyattn-opt SPEC --polyattn-cpu-pipeline --tile-drop-entries | mlir-translate --mlir-to-llvmir
    ```

    Numeric contract: exact; functions stay as they are.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
}

#endif // POLYATTN_TILE_TARGET_PASSES
