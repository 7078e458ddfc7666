//===- DropEntries.cpp - modules of functions alone -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_DROPENTRIES
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {
struct DropEntries : polyattn::impl::DropEntriesBase<DropEntries> {
  void runOnOperation() override {
    for (auto entry : llvm::make_early_inc_range(getOperation().getOps<tile::EntryOp>()))
      entry.erase();
  }
};
} // namespace
