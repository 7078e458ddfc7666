//===- TileOps.td - the dialect's ops -------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_OPS
#define TILE_OPS

include "dialects/Tile/TileBase.td"

include "dialects/Tile/LaunchOps.td"
include "dialects/Tile/KernelOps.td"
include "dialects/Tile/MemoryOps.td"
include "dialects/Tile/ValueOps.td"
include "dialects/Tile/FourierOps.td"

#endif // TILE_OPS
