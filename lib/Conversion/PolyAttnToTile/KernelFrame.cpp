//===- KernelFrame.cpp - the tensors and indices of one kernel ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

using namespace mlir;
using namespace polyattn;

static MemRefType memrefOf(RankedTensorType tensor) {
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

tile::ExtentAttr KernelTensors::batches(MLIRContext *context, int64_t tensor) const {
  if (!offsets)
    return tile::ExtentAttr::dimensionOf(context, tensor, 0);
  return tile::ExtentAttr::get(context, tile::ExtentBase::Dimension, *offsets, /*dimension=*/0,
                               /*plus=*/-1, /*divisor=*/1, /*times=*/1);
}

ArrayAttr KernelTensors::gridOf(Builder &builder, const KernelPrograms &programs) const {
  MLIRContext *context = builder.getContext();
  int64_t tensor = tensorOf(programs);
  SmallVector<Attribute> axes;
  if (programs.perHead)
    axes.push_back(programs.perHead);
  if (programs.inParts)
    axes.push_back(tile::ExtentAttr::choice(context, tile::ExtentBase::Parts));
  else if (programs.batches > 1)
    axes.push_back(tile::ExtentAttr::get(context, tile::ExtentBase::Dimension, tensor,
                                         /*dimension=*/0,
                                         /*plus=*/1 - programs.fewestBatches,
                                         /*divisor=*/programs.batches, /*times=*/1));
  else
    axes.push_back(batches(context, tensor));
  axes.push_back(tile::ExtentAttr::dimensionOf(context, tensor, 2));
  return builder.getArrayAttr(axes);
}

tile::KernelOp polyattn::createKernel(TileBuilder &b, StringRef name, const KernelTensors &tensors,
                                      ArrayRef<HiddenArgument> workspaces, ArrayAttr axes) {
  SmallVector<Attribute> names(tensors.names.begin(), tensors.names.end());
  SmallVector<Type> types(tensors.types.begin(), tensors.types.end());
  for (const HiddenArgument &tensor : workspaces) {
    names.push_back(b.getStringAttr(tensor.name));
    types.push_back(tensor.type);
  }
  IntegerAttr cluster;
  if (tensors.cluster > 1)
    cluster = b.getI64IntegerAttr(tensors.cluster);
  auto kernel = tile::KernelOp::create(b, b.getStringAttr(name), axes, b.getArrayAttr(names),
                                       b.getI64IntegerAttr(tensors.inputs), cluster);
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : types)
    body->addArgument(memrefOf(cast<RankedTensorType>(type)), b.getLoc());
  b.setInsertionPointToEnd(body);
  return kernel;
}

/// A whole number of an argument, of this program's batch or packed sequence for instance, i64.
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

void KernelFrame::bindSequence(TileBuilder &b, Value offsets) {
  SequenceRows rows = rowsOfSequence(b, offsets, sequence);
  firstRow = rows.first;
  queries = keys = rows.count;
  batch = b.index(0);
}

Value KernelFrame::hasState(TileBuilder &b) const {
  return slot ? b.compare(arith::CmpIPredicate::sge, slot, b.index(0)) : Value();
}

/// How many positions of its local block a call has before it.
Value KernelFrame::countCached(TileBuilder &b, Value hasSlot) const {
  Value block = arith::ConstantIntOp::create(b, tensors.cachedBlock, 64);
  Value rest = arith::RemUIOp::create(b, firstPosition, block);
  return b.select(hasSlot, arith::IndexCastOp::create(b, b.getIndexType(), rest), b.index(0));
}

/// A batch without a slot has no positions that count.
void KernelFrame::readSlotAndLength(TileBuilder &b) {
  auto load = [&](int64_t tensor) -> Value {
    Value number = loadNumber(b, kernel.getTensor(tensor), sequence);
    return arith::IndexCastOp::create(b, b.getIndexType(), number);
  };
  if (!tensors.slots && !tensors.lengths)
    return;
  positions = queries;
  if (tensors.lengths)
    queries = b.minIndex(queries, load(*tensors.lengths));
  if (tensors.slots) {
    slot = load(*tensors.slots);
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
  }
  keys = queries;
}

Value KernelFrame::headsOf(TileBuilder &b, int64_t tensor) const {
  return memref::DimOp::create(b, kernel.getTensor(tensor), b.index(2));
}

Value KernelFrame::servingHead(TileBuilder &b, const KernelTensors &tensors, Value head) {
  Value heads = headsOf(b, keyHeads);
  if (tensors.interleaved)
    return arith::RemUIOp::create(b, head, heads);
  group = arith::DivUIOp::create(b, headsOf(b, queryHeads), heads);
  return arith::DivUIOp::create(b, head, group);
}

Value KernelFrame::headsOfGroup(TileBuilder &b) const {
  return arith::DivUIOp::create(b, headsOf(b, queryHeads), headsOf(b, keyHeads));
}

Value KernelFrame::headOfGroup(TileBuilder &b, Value i) const {
  if (interleaved)
    return b.addIndex(b.mulIndex(i, headsOf(b, keyHeads)), head);
  return b.addIndex(b.mulIndex(head, headsOfGroup(b)), i);
}

Value KernelFrame::sharingHead(TileBuilder &b, Value i) const {
  if (interleaved)
    return b.addIndex(b.mulIndex(i, headsOf(b, keyHeads)), kvHead);
  return b.addIndex(b.mulIndex(kvHead, headsOfGroup(b)), i);
}

void KernelFrame::forOtherHeads(TileBuilder &b, TileBuilder::Branch body) {
  Value own = head;
  b.loop(b.index(1), headsOfGroup(b), b.index(1), [&](Value number) {
    head = sharingHead(b, number);
    body();
  });
  head = own;
}

Value KernelFrame::firstHeadOfGroup(TileBuilder &b) const {
  return group ? b.mulIndex(kvHead, group) : kvHead;
}

void KernelFrame::setBatch(TileBuilder &b, Value number) {
  sequence = batch = number;
  if (tensors.offsets)
    bindSequence(b, kernel.getTensor(*tensors.offsets));
  if (tensors.firstPosition)
    firstPosition = loadNumber(b, kernel.getTensor(*tensors.firstPosition), sequence);
  readSlotAndLength(b);
}

/// The number of batches, or of packed sequences.
Value KernelFrame::countBatches(TileBuilder &b) const {
  Value batches = memref::DimOp::create(
      b, kernel.getTensor(tensors.offsets.value_or(tensors.queryTensor)), b.index(0));
  if (tensors.offsets) // where each begins, and the last one ends
    batches = b.subIndex(batches, b.index(1));
  return batches;
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
  forItems(b, parts, countBatches(b), [&](Value number) {
    setBatch(b, number);
    body();
  });
}

void KernelFrame::forBlocks(TileBuilder &b, Value parts, int64_t length,
                            function_ref<void(Value)> body) {
  assert(!tensors.offsets && !tensors.lengths && "batches have as many blocks as each other");
  Value positions = b.index(length), last = b.subIndex(positions, b.index(1));
  Value blocks = b.divIndex(b.addIndex(queries, last), positions);
  // The copies of the first iteration are issued before the loop, also where it has no iteration.
  Value divisor = arith::MaxUIOp::create(b, blocks, b.index(1));
  forItems(b, parts, b.mulIndex(countBatches(b), blocks), [&](Value item) {
    setBatch(b, b.divIndex(item, divisor));
    Value block = arith::RemUIOp::create(b, item, divisor);
    body(b.mulIndex(block, positions));
  });
}

KernelFrame::KernelFrame(TileBuilder &b, StringRef name, const KernelTensors &tensors,
                         ArrayRef<HiddenArgument> workspaces, const KernelPrograms &programs)
    : kernel(createKernel(b, name, tensors, workspaces, tensors.gridOf(b, programs))),
      weights(kernel), tensors(tensors), numInputs(tensors.inputs),
      firstWorkspace(tensors.types.size()),
      queryHeads(tensors.rowsOfKeys ? tensors.keyTensor : tensors.queryTensor),
      keyHeads(tensors.rowsOfKeys ? tensors.queryTensor : tensors.keyTensor),
      interleaved(tensors.interleaved), rowsOfKeys(tensors.rowsOfKeys) {
  int64_t axis = 0;
  if (programs.perHead)
    segment = tile::ProgramIdOp::create(b, axis++);
  Value first = tile::ProgramIdOp::create(b, axis++);
  if (programs.batches > 1)
    first = b.mulIndex(first, b.index(programs.batches));
  head = tile::ProgramIdOp::create(b, axis++);
  // One head for both sides makes what they read and compute alike one value.
  kvHead = programHead = head;
  bool manyRows = !rowsOfKeys && !programs.keyHeads, fewRows = rowsOfKeys && programs.keyHeads;
  if (!tensors.sameHeads && (manyRows || fewRows))
    (manyRows ? kvHead : head) = servingHead(b, tensors, head);
  Value one = b.index(1);
  int64_t rows = rowsOfKeys ? tensors.queryTensor : tensors.tensorOf(programs);
  queries = memref::DimOp::create(b, kernel.getTensor(rows), one);
  keys = memref::DimOp::create(b, kernel.getTensor(tensors.keyTensor), one);
  if (programs.inParts)
    part = first;
  else
    setBatch(b, first);
  if (tensors.cluster > 1)
    clusterRank = tile::ClusterRankOp::create(b);
}
