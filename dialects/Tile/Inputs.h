//===- Inputs.h - what a tile kernel only reads -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_TILE_INPUTS_H
#define POLYATTN_DIALECTS_TILE_INPUTS_H

#include "dialects/Tile/Tile.h"

namespace polyattn::tile {

/// The tensor that an op writes, or null.
mlir::Value writtenTensor(mlir::Operation *op);

/// True for an input of its kernel's entry.
bool isInput(mlir::Value memref);

/// True for a tensor that no program of its kernel writes: an input, or what an earlier kernel of
/// the entry has written.
bool isOnlyRead(mlir::Value memref);

} // namespace polyattn::tile

#endif // POLYATTN_DIALECTS_TILE_INPUTS_H
