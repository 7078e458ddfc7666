//===- ProgramSequence.cpp - the sequence that a program computes ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramSequence.h"

using namespace mlir;
using namespace polyattn;

/// A whole number of an argument, i64.
static Value loadNumber(TileBuilder &b, Value tensor, Value index) {
  Value number = memref::LoadOp::create(b, tensor, index);
  return b.createOrFold<arith::ExtSIOp>(b.getI64Type(), number);
}

SequenceRows polyattn::rowsOfSequence(TileBuilder &b, Value offsets, Value sequence) {
  auto bound = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), loadNumber(b, offsets, index));
  };
  Value first = bound(sequence);
  return {first, b.subIndex(bound(b.addIndex(sequence, b.index(1))), first)};
}

ProgramSequence::ProgramSequence(TileBuilder &b, tile::KernelOp kernel,
                                 const KernelTensors &tensors, const KernelPrograms &programs)
    : kernel(kernel), tensors(tensors) {
  Value one = b.index(1);
  int64_t rows = tensors.rowsOfKeys ? tensors.queryTensor : tensors.tensorOf(programs);
  queries = memref::DimOp::create(b, kernel.getTensor(rows), one);
  keys = memref::DimOp::create(b, kernel.getTensor(tensors.keyTensor), one);
}

Value ProgramSequence::count(TileBuilder &b) const {
  Value batches = memref::DimOp::create(
      b, kernel.getTensor(tensors.offsets.value_or(tensors.queryTensor)), b.index(0));
  if (tensors.offsets) // where each begins, and the last one ends
    batches = b.subIndex(batches, b.index(1));
  return batches;
}

void ProgramSequence::begin(TileBuilder &b, Value sequence) {
  number = batch = sequence;
  if (tensors.offsets) {
    SequenceRows rows = rowsOfSequence(b, kernel.getTensor(*tensors.offsets), number);
    firstRow = rows.first;
    queries = keys = rows.count;
    batch = b.index(0);
  }
  if (tensors.firstPosition)
    firstPosition = load(b, *tensors.firstPosition);
  readSlotAndLength(b);
}

/// The number of this sequence in an argument, i64.
Value ProgramSequence::load(TileBuilder &b, int64_t tensor) const {
  return loadNumber(b, kernel.getTensor(tensor), number);
}

Value ProgramSequence::hasState(TileBuilder &b) const {
  return slot ? b.compare(arith::CmpIPredicate::sge, slot, b.index(0)) : Value();
}

void ProgramSequence::ifHasState(TileBuilder &b, TileBuilder::Branch body) const {
  if (Value given = hasState(b))
    b.branch(given, body);
  else
    body();
}

/// How many positions of its local block a call has before it.
Value ProgramSequence::countCached(TileBuilder &b, Value hasSlot) const {
  Value block = arith::ConstantIntOp::create(b, tensors.cachedBlock, 64);
  Value rest = arith::RemUIOp::create(b, firstPosition, block);
  return b.select(hasSlot, arith::IndexCastOp::create(b, b.getIndexType(), rest), b.index(0));
}

ProgramSequence ProgramSequence::token(TileBuilder &b, Value t) const {
  ProgramSequence one = *this;
  one.firstRow = rowOf(b, t);
  one.queries = one.keys = b.index(1);
  one.isContinued = arith::ConstantIntOp::create(b, 1, 1); // the token before has left its state
  if (before)
    one.before = b.addIndex(before, t);
  if (firstPosition) {
    Value count = arith::IndexCastOp::create(b, b.getI64Type(), t);
    one.firstPosition = arith::AddIOp::create(b, firstPosition, count);
  }
  if (cached)
    one.cached = one.countCached(b, one.isContinued);
  return one;
}

/// A sequence without a slot has no positions that count.
void ProgramSequence::readSlotAndLength(TileBuilder &b) {
  auto loadIndex = [&](int64_t tensor) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), load(b, tensor));
  };
  if (!tensors.slots && !tensors.lengths)
    return;
  positions = queries;
  if (tensors.lengths)
    queries = b.minIndex(queries, loadIndex(*tensors.lengths));
  if (tensors.slots) {
    slot = loadIndex(*tensors.slots);
    Value given = hasState(b);
    queries = b.select(given, queries, b.index(0));
    if (tensors.cachedBlock)
      cached = countCached(b, given);
    if (firstPosition) {
      Value zero = arith::ConstantIntOp::create(b, 0, 64);
      Value isLater = b.compare(arith::CmpIPredicate::ne, firstPosition, zero);
      given = arith::AndIOp::create(b, given, isLater);
    }
    isContinued = given;
    if (tensors.hasRings)
      before = b.select(given, arith::IndexCastOp::create(b, b.getIndexType(), firstPosition),
                        b.index(0));
  }
  keys = queries;
}
