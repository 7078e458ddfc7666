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
    Every `polyattn.kernel` becomes a `tile.kernel` of its name, whose programs compute one batch
    and query head each. The schedules of its attends choose the form: blocks with a state
    (PolySketchFormer, section 3.1), quadratic, or blocks from the states of segments. Features live
    only for one block of positions and one block of features.

    The attributes `cut` and `steps` add kernels beside it. With `subsegments = N` there are two
    kernels:

    - `@name__prefix` (programs: (S - 1) N, B, heads of the state) stores the contribution of each
      segment but the last to the state, from zero, and the segment's decay.
    - `@name` (programs: S, B, H) begins with the contributions of earlier segments.

    With S = 1 the first kernel has no programs.

    A `tile.entry` says how the kernels of each attention are launched.

    With `skip-idle-state` products with the state sum 0 terms in the first block, where the state
    is zero. Updates of the state sum 0 terms in the last block if nothing reads the result.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
  let options = [
    Option<"skipIdleState", "skip-idle-state", "bool", "false",
           "Products with a state that has no keys yet, and updates of a state that nothing reads, "
           "sum no terms">,
  ];
}

#endif // POLYATTN_TILE_PASSES
