//===- Passes.td - passes from tile to tile -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TILETRANSFORMS_PASSES
#define POLYATTN_TILETRANSFORMS_PASSES

include "lib/TileTransforms/FoldPasses.td"
include "lib/TileTransforms/MemoryPasses.td"
include "lib/TileTransforms/TargetPasses.td"

#endif // POLYATTN_TILETRANSFORMS_PASSES
