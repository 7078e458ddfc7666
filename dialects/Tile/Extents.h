//===- Extents.h - sizes that a launch decides, as text ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_TILE_EXTENTS_H
#define POLYATTN_DIALECTS_TILE_EXTENTS_H

#include "dialects/Tile/Tile.h"

namespace polyattn::tile {

/// The directives `custom<Extent>` and `custom<Extents>` of ops.
mlir::ParseResult parseExtent(mlir::OpAsmParser &parser, ExtentAttr &extent);
void printExtent(mlir::OpAsmPrinter &printer, mlir::Operation *op, ExtentAttr extent);
mlir::ParseResult parseExtents(mlir::OpAsmParser &parser, mlir::ArrayAttr &extents);
void printExtents(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr extents);

/// The word of an enumerator: `custom<Choice>`, `custom<Fill>` and `custom<Role>`.
mlir::ParseResult parseChoice(mlir::OpAsmParser &parser, ExtentBaseAttr &kind);
void printChoice(mlir::OpAsmPrinter &printer, mlir::Operation *op, ExtentBaseAttr kind);
mlir::ParseResult parseFill(mlir::OpAsmParser &parser, WorkspaceFillAttr &fill);
void printFill(mlir::OpAsmPrinter &printer, mlir::Operation *op, WorkspaceFillAttr fill);
mlir::ParseResult parseRole(mlir::OpAsmParser &parser, StageRoleAttr &role);
void printRole(mlir::OpAsmPrinter &printer, mlir::Operation *op, StageRoleAttr role);

} // namespace polyattn::tile

#endif // POLYATTN_DIALECTS_TILE_EXTENTS_H
