//===- ProgramHeads.cpp - the heads that a program computes ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramHeads.h"

using namespace mlir;
using namespace polyattn;

static Value countHeads(TileBuilder &b, Value tensor) {
  return memref::DimOp::create(b, tensor, b.index(2));
}

Value polyattn::countSharing(TileBuilder &b, Value tensor, Value shared) {
  return b.divIndex(countHeads(b, tensor), countHeads(b, shared));
}

ProgramHeads::ProgramHeads(TileBuilder &b, tile::KernelOp kernel, const KernelTensors &tensors,
                           const KernelPrograms &programs, Value number)
    : number(number), queryHead(number), keyHead(number),
      queries(kernel.getTensor(tensors.rowsOfKeys ? tensors.keyHeads : tensors.queryHeads)),
      keys(kernel.getTensor(tensors.rowsOfKeys ? tensors.queryHeads : tensors.keyHeads)),
      interleaved(tensors.interleaved), rowsOfKeys(tensors.rowsOfKeys) {
  // One head for both sides makes what they read and compute alike one value.
  bool countsQueries = rowsOfKeys == programs.keyHeads;
  if (tensors.sameHeads || !countsQueries)
    return;
  Value heads = countHeads(b, keys);
  if (interleaved) {
    keyHead = arith::RemUIOp::create(b, queryHead, heads);
    return;
  }
  group = b.divIndex(countHeads(b, queries), heads);
  keyHead = b.divIndex(queryHead, group);
}

Value ProgramHeads::countGroup(TileBuilder &b) const {
  return b.divIndex(countHeads(b, queries), countHeads(b, keys));
}

Value ProgramHeads::ofGroup(TileBuilder &b, Value i) const {
  if (interleaved)
    return b.addIndex(b.mulIndex(i, countHeads(b, keys)), keyHead);
  return b.addIndex(b.mulIndex(keyHead, countGroup(b)), i);
}

Value ProgramHeads::isFirstOfGroup(TileBuilder &b) const {
  if (rowsOfKeys) // asked in few places, which compute the size of the group themselves
    return b.isEqual(queryHead, ofGroup(b, b.index(0)));
  return b.isEqual(queryHead, group ? b.mulIndex(keyHead, group) : keyHead);
}

void ProgramHeads::forOthers(TileBuilder &b, TileBuilder::Branch body) {
  Value own = queryHead;
  b.loop(b.index(1), countGroup(b), b.index(1), [&](Value i) {
    queryHead = ofGroup(b, i);
    body();
  });
  queryHead = own;
}
