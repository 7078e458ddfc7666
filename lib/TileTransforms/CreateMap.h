//===- CreateMap.h - a tile, or a tile times factors -*- C++ -* -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILETRANSFORMS_CREATEMAP_H
#define POLYATTN_LIB_TILETRANSFORMS_CREATEMAP_H

#include "mlir/IR/Builders.h"

namespace polyattn {

/// Creates a `tile.map` that copies `tile`, or multiplies it by `factors` where these are given: a
/// tile of its shape, a row, a column or one number.
mlir::Value createMap(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tile,
                      mlir::Value factors = {});

} // namespace polyattn

#endif // POLYATTN_LIB_TILETRANSFORMS_CREATEMAP_H
