//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_TILE_H
#define POLYATTN_DIALECTS_TILE_H

#include "dialects/Attributes/KnownAttributes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

namespace polyattn::tile {
/// Entries of a square at and below its diagonal, or at and above it.
enum class Triangle { None, Lower, Upper };
} // namespace polyattn::tile

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace polyattn::tile {

constexpr llvm::StringLiteral kNestAttrName = "tile.nest";
constexpr llvm::StringLiteral kPrefetchedByAttrName = "tile.prefetched_by";
/// Scratch bytes of a thread: of the function that a kernel has become, an i64 of at least 0.
constexpr llvm::StringLiteral kScratchBytesAttrName = "tile.scratch_bytes";

/// The nest that computes this op and fetches rows of tensors meanwhile, or null.
NestAttr nestOf(mlir::Operation *op);

/// The nest that fetches what this load or store accesses next, or null.
NestAttr prefetcherOf(mlir::Operation *access);

} // namespace polyattn::tile

#endif // POLYATTN_DIALECTS_TILE_H
