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

    Processors multiply in the type of the sums, f32 or f64. With `bf16-pairs` they have an
    instruction for two products of bf16 and their sum. Then products of two matrices are `bf16` in
    a kernel that reads sequences in bf16, if no product of the kernel has precision `f32`. The sum
    must have an even number of terms, 16 or more, and the result 8 or more rows and columns.
    Smaller products take less time than rounding their operands would.

    Tensor cores multiply matrices in the type of the kernel's sequences, its inputs [B, T, H, d]:

    | sequences | precision | |
    |---|---|---|
    | bf16 | `bf16` | |
    | f16 | `tf32` | has the mantissa of f16 and a range that is large enough for features |
    | f32 | `split_tf32` | keeps the precision of f32; `split_bf16` if all results have 16 bits |

    Products of a matrix and a vector do not run on tensor cores, or take a second column there.
    They are `split_bf16` beside `bf16`, and otherwise `f32`.

    Where matrices are multiplied in bf16, each `math.exp` of a matrix gets the flag `afn`: its error
    may be 1e-5, as one exp2 instruction has it, since factors are rounded by up to 4e-3.

    A product with precision `f32` becomes `split_bf16` on tensor cores if all inputs or all results
    have 16 bits, and `split_tf32` otherwise. An attend has such products if gradients take small
    differences of its results. All other products of matrices of the same kernel, and of a kernel
    that reads sequences in f32, are treated the same way.

    A product with precision `bf16` asks for bf16 in all products of matrices of its kernel, whatever
    the type of the sequences, unless another one says `f32`. Processors without `bf16-pairs` multiply
    it in f32.

    Numeric contract: precision-reducing, to the storage type of the sequences.
  }];
  let options = [
    Option<"tensorCores", "tensor-cores", "bool", "false", "Multiply on a GPU's tensor cores">,
    Option<"bf16Pairs", "bf16-pairs", "bool", "false",
           "Multiply pairs of bf16, as processors do that have an instruction for it">,
  ];
}

def PackOperands : Pass<"tile-pack-operands", "::mlir::ModuleOp"> {
  let summary = "operands of bf16 products are rounded, in the order in which these read them";
  let description = [{
    A `tile.dot` or `tile.accumulate` with precision `bf16` and operands of f32 reads the results
    of a `tile.pack` instead. The right operand, and a transposed left operand, are in the layout
    `row_pairs`: two terms of a sum are one word. A left operand that is not transposed has them side by
    side already.

    ```mlir
    %s = tile.dot %q, %k precision <bf16> {lhs_transposed} : <64x32xf32>, <64x32xf32> -> <32x32xf32>
    ```

    becomes

    ```mlir
    %a = tile.pack %q : <64x32xf32> -> !tile.tile<64x32xbf16, row_pairs>
    %b = tile.pack %k : <64x32xf32> -> !tile.tile<64x32xbf16, row_pairs>
    %s = tile.dot %a, %b precision <bf16> {lhs_transposed}
      : <64x32xbf16, row_pairs>, <64x32xbf16, row_pairs> -> <32x32xf32>
    ```

    One op makes all layouts of a value, right behind the value. If an operand is a window of what an
    outer block computes, that block packs the whole, and the product reads a window of it. A
    product with an odd number of terms stays as it is.

    Numeric contract: exact. The products round their operands anyway, and nothing else reads the
    packed tiles.
  }];
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
