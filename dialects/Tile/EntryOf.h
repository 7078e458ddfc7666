//===- EntryOf.h - the entry that launches a kernel -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_TILE_ENTRYOF_H
#define POLYATTN_DIALECTS_TILE_ENTRYOF_H

#include "dialects/Tile/Tile.h"

namespace polyattn::tile {

/// The entry of the module that has a stage of this kernel; null where no entry has one.
inline EntryOp entryOf(mlir::ModuleOp module, llvm::StringRef kernel) {
  for (auto entry : module.getOps<EntryOp>())
    for (auto stage : entry.getBody().getOps<StageOp>())
      if (stage.getKernel() == kernel)
        return entry;
  return {};
}

} // namespace polyattn::tile

#endif // POLYATTN_DIALECTS_TILE_ENTRYOF_H
