//===- KernelFrame.cpp - the tensors and indices of one kernel ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

using namespace mlir;
using namespace polyattn;

KernelFrame::KernelFrame(TileBuilder &b, StringRef name, const KernelTensors &tensors,
                         ArrayRef<HiddenArgument> workspaces, const KernelPrograms &programs)
    : kernel(createKernel(b, name, tensors, workspaces, tensors.gridOf(b, programs))),
      weights(kernel, tensors.inputs), tensors(tensors) {
  int64_t axis = 0;
  if (programs.perHead)
    segment = tile::ProgramIdOp::create(b, axis++);
  Value first = tile::ProgramIdOp::create(b, axis++);
  if (programs.batches > 1)
    first = b.mulIndex(first, b.index(programs.batches));
  Value head = tile::ProgramIdOp::create(b, axis++);
  heads = ProgramHeads(b, kernel, tensors, programs, head);
  sequence = ProgramSequence(b, kernel, tensors, programs);
  if (programs.inParts)
    part = first;
  else
    sequence.begin(b, first);
  if (tensors.cluster > 1)
    clusterRank = tile::ClusterRankOp::create(b);
}

/// The items of the program's part. Parts are consecutive and differ by at most one item; with more
/// parts than items some are empty.
void KernelFrame::forItems(TileBuilder &b, Value parts, Value items,
                           function_ref<void(Value)> body) const {
  Value one = b.index(1);
  auto firstOf = [&](Value part) { return b.divIndex(b.mulIndex(part, items), parts); };
  b.loop(firstOf(part), firstOf(b.addIndex(part, one)), one, body);
}

void KernelFrame::forBatches(TileBuilder &b, Value parts, function_ref<void()> body) {
  forItems(b, parts, sequence.count(b), [&](Value number) {
    sequence.begin(b, number);
    body();
  });
}

void KernelFrame::forBlocks(TileBuilder &b, Value parts, int64_t length,
                            function_ref<void(Value)> body) {
  assert(!tensors.offsets && !tensors.lengths && "batches have as many blocks as each other");
  Value positions = b.index(length), last = b.subIndex(positions, b.index(1));
  Value blocks = b.divIndex(b.addIndex(sequence.queries, last), positions);
  // The copies of the first iteration are issued before the loop, also where it has no iteration.
  Value divisor = arith::MaxUIOp::create(b, blocks, b.index(1));
  forItems(b, parts, b.mulIndex(sequence.count(b), blocks), [&](Value item) {
    sequence.begin(b, b.divIndex(item, divisor));
    Value block = arith::RemUIOp::create(b, item, divisor);
    body(b.mulIndex(block, positions));
  });
}
