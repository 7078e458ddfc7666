//===- KernelOps.td - kernels, their programs and clusters of these -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_KERNEL_OPS
#define TILE_KERNEL_OPS

include "dialects/Tile/LaunchOps.td"
include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Tile_KernelOp : Tile_Op<"kernel",
    [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a tile kernel and its tensors";
  let description = [{
    The body is the work of one program. Its arguments are the tensors, inputs first, as memrefs
    with dynamic strides whose innermost stride is 1. Programs are independent of each other, and
    none stores to an input.

    `programs` gives their number, like the stage of `tile.entry` that launches the kernel. It has
    one extent for each axis of their grid, and the last one is counted fastest. Without it there is
    a single program. `tile.program_id` is a program's coordinate along an axis. Values computed
    from it, such as the key head that serves a query head, are ordinary arithmetic in the body.

    With `cluster = N` there are N programs in place of one. They run together on multiprocessors
    that see each other's memory. `tile.cluster_rank` distinguishes them, and `tile.cluster_sum`
    adds up their tiles.

    C1: an extent names tensors of the kernel. All but the first are numbers or sizes, `dim(t, d)`,
        so that a program's number can be split into coordinates.

    ```mlir
    tile.kernel @copy programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["q", "o"], num_inputs = 1} {
    ^bb0(%q: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>):
      %batch = tile.program_id 0 : index
      %head = tile.program_id 1 : index
      ...
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       DefaultValuedAttr<Tile_ExtentArrayAttr, "{}">:$programs,
                       StrArrayAttr:$arg_names, I64Attr:$num_inputs,
                       OptionalAttr<I64Attr>:$cluster);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $sym_name (`programs` custom<Extents>($programs)^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "tile"; }
    /// The tensors, inputs first.
    unsigned getNumTensors() { return getArgNames().size(); }
    ::mlir::Value getTensor(unsigned i) { return getBody().getArgument(i); }
    /// The axes of the grid of programs.
    ::llvm::SmallVector<ExtentAttr> getAxes() {
      return ::llvm::to_vector(getPrograms().getAsRange<ExtentAttr>());
    }
    /// Programs of a cluster, 1 where there are none.
    int64_t getClusterSize() { return getCluster().value_or(1); }
  }];
}

def Tile_ProgramIdOp : Tile_Op<"program_id",
    [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the program's coordinate along an axis of its kernel's grid";
  let description = [{
    From 0 to n - 1, where n is the extent of this number in the kernel's `programs`.

    ```mlir
    %head = tile.program_id 1 : index
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Index:$number);
  let assemblyFormat = "$axis attr-dict `:` type($number)";
}

def Tile_ClusterRankOp : Tile_Op<"cluster_rank", [Pure]> {
  let summary = "the program's number in its cluster";
  let description = [{
    From 0 to N - 1, in a kernel with `cluster = N`.

    ```mlir
    %rank = tile.cluster_rank : index
    ```
  }];
  let results = (outs Index:$rank);
  let assemblyFormat = "attr-dict `:` type($rank)";
}

def Tile_ClusterSumOp : Tile_Op<"cluster_sum", [SameOperandsAndResultType]> {
  let summary = "the sum of a tile over the programs of a cluster";
  let description = [{
    Every program of the cluster must reach this op, and each then has the sum.

    ```mlir
    %all = tile.cluster_sum %part : <64x128xf32>
    ```
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

#endif // TILE_KERNEL_OPS
