//===- StageWeights.h - weights that come to shared memory in a loop -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight for which shared memory has no room through all of a loop may have some while the
// products last that read it: it is copied there in each iteration. Loads of what only comes after
// these products then wait for them, so that the weight takes their place.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_STAGEWEIGHTS_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_STAGEWEIGHTS_H

#include "dialects/Tile/Tile.h"
#include "llvm/ADT/SmallVector.h"

namespace polyattn::tile_to_warp {

class ResidencyAnalysis;

/// The weights of which `residency` keeps nothing through the loops that read them.
llvm::SmallVector<tile::LoadOp> weightsKeptNowhere(tile::KernelOp kernel,
                                                   const ResidencyAnalysis &residency);

/// Whether only products in the body of one loop read a weight, all of it, and nothing writes it.
bool canStage(tile::LoadOp weight);

/// Moves the load of such a weight into the loop, before the products that read it.
void stageWeight(tile::LoadOp weight, const ResidencyAnalysis &residency);

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_STAGEWEIGHTS_H
