//===- Passes.td - passes from one level to the next ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PASSES
#define POLYATTN_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertPolyAttnToTile : Pass<"polyattn-to-tile", "::mlir::ModuleOp"> {
  let summary = "attentions become block programs";
  let description = [{
    Every `polyattn.attention`, its maps inlined, becomes a `tile.kernel` of the same name
    that computes one batch and query head: the block form of PolySketchFormer, section
    3.1, or the quadratic form, as the attention's schedule says. Attentions without a
    schedule get the one that `--polyattn-choose-schedule` would give them.

    Features live for one block of positions and one block of features only.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
  let options = [
    Option<"cutHeads", "cut-heads", "bool", "true",
           "Let a launch cut the features of a head over several programs, where they can be">,
  ];
}

#endif // POLYATTN_CONVERSION_PASSES
