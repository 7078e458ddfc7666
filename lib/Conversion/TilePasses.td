//===- TilePasses.td - passes to the tile dialect -------------------------===//
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

#endif // POLYATTN_TILE_PASSES
