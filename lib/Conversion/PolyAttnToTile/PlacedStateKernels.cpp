//===- PlacedStateKernels.cpp - final states that live in arguments -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of query heads that share a state all read the initial one. So none of them may
// write it: final states go to workspaces, and a second kernel takes them where they live once all
// have ended.
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"
#include "PlacedStates.h"
#include "StageKernels.h"
#include "dialects/PolyAttn/Arguments.h"

using namespace mlir;
using namespace polyattn;

/// Whether a result is a final state that lives in an argument.
static bool isPlaced(AttentionOp attention, size_t result, Value value) {
  return attention.getArgumentOfResult(result) && definingOp<AttendOp>(value);
}

/// The workspace of each final state that lives in an argument, in the results' order.
static SmallVector<std::optional<unsigned>> workspacesOf(const KernelInfo &info) {
  SmallVector<std::optional<unsigned>> numbers;
  unsigned next = 0;
  for (auto [i, result] : llvm::enumerate(returnedBy(info.attention)))
    numbers.push_back(isPlaced(info.attention, i, result) ? std::optional(next++) : std::nullopt);
  return numbers;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Where a program stores a final state.
Value polyattn::tensorOfState(const KernelInfo &info, const KernelFrame &frame, unsigned result) {
  std::optional<unsigned> number = workspacesOf(info)[result];
  return number ? frame.workspace(*number) : frame.result(result);
}

void polyattn::ifStatesChange(TileBuilder &b, const ProgramContext &context,
                              TileBuilder::Branch body) {
  const ProgramSequence &sequence = context.frame.sequence;
  if (!sequence.cached)
    return body();
  Value all = b.addIndex(sequence.cached, sequence.queries);
  Value isFull = b.compare(arith::CmpIPredicate::sge, all, b.index(context.run));
  Value isNew = b.isEqual(sequence.isContinued, arith::ConstantIntOp::create(b, 0, 1));
  b.branch(arith::OrIOp::create(b, isFull, isNew), body);
}

/// Copies final states from workspaces to where they live.
static void writeBackStates(TileBuilder &b, const KernelInfo &info, const ProgramContext &context) {
  const KernelFrame &frame = context.frame;
  KernelProgram program(info, ScheduleForm::State, context);
  for (AttendOp op : info.attends) {
    if (!op.getFinalState())
      continue;
    FinalState from, to;
    for (const auto &[number, value] : info.outputs) {
      if (!workspacesOf(info)[number] || value.getDefiningOp() != op)
        continue;
      bool isState = value == op.getFinalStates().front();
      (isState ? from.rows : from.normalizer) = tensorOfState(info, frame, number);
      (isState ? to.rows : to.normalizer) = frame.result(number);
    }
    auto write = [&] { program.stateOf(op).tensors().writeBack(b, from, to); };
    bool isShared = info.hasStatePerQuery() && op.getGateHeads() != GateHeads::Q;
    if (isShared) // by query heads, of which each has a program here
      b.branch(frame.heads.isFirstOfGroup(b), write);
    else
      write();
  }
}

/// Stores `valid` rows of the call, from `row` on, in those of a pool from `place` on.
static void storeRows(TileBuilder &b, const KernelFrame &frame, KeepOp keep, Value pool, Value head,
                      Value row, Value place, int64_t block, Value valid) {
  Value tensor = frame.input(keep.getTensor()), zero = b.index(0);
  SmallVector<Value> from = {frame.sequence.batch, frame.sequence.rowOf(b, row), head};
  SmallVector<Value> to = {frame.sequence.stateRow(), head, place};
  auto type = cast<RankedTensorType>(keep.getTensor().getType());
  if (type.getRank() == 3) {
    Value gates = tile::LoadOp::create(b, b.tileType(1, block), tensor, from, valid,
                                       /*row_dim=*/-1, /*col_dim=*/1, /*transposed=*/false);
    tile::StoreOp::create(b, b.transpose(gates), pool, to, valid, /*row_dim=*/2, /*col_dim=*/-1);
    return;
  }
  from.push_back(zero);
  to.push_back(zero);
  Value rows = tile::LoadOp::create(b, b.tileType(block, type.getDimSize(3)), tensor, from, valid,
                                    /*row_dim=*/1, /*col_dim=*/3, /*transposed=*/false);
  tile::StoreOp::create(b, rows, pool, to, valid, /*row_dim=*/2, /*col_dim=*/3);
}

/// Calls `store` with the head whose rows a program keeps. Of the programs that share a head the
/// first one keeps them.
static void storeOfHead(TileBuilder &b, const KernelFrame &frame, KeepOp keep, bool ofQueries,
                        llvm::function_ref<void(Value head)> store) {
  Value head = frame.heads.of(ofQueries);
  if (!hasSharedHeads(keep.getTensor().getType()))
    return store(head);
  Value group = countSharing(b, frame.headTensor(), frame.input(keep.getTensor()));
  Value isFirst = b.isEqual(arith::RemUIOp::create(b, head, group), b.index(0));
  b.branch(isFirst, [&] { store(b.divIndex(head, group)); });
}

/// Whether rows are kept of the gates of query heads.
static bool isOfQueries(const KernelInfo &info, KeepOp keep) {
  return llvm::any_of(info.attends, [&](AttendOp attend) {
    return attend.getDecay() == keep.getTensor() && attend.getGateHeads() == GateHeads::Q;
  });
}

/// Keeps as many of the call's last positions as a local block has, of query heads or of key heads:
/// those of the block that is going on, and before them some of the block that has ended.
static void storeRowsOf(TileBuilder &b, const KernelInfo &info, const ProgramContext &context,
                        bool ofQueries) {
  const KernelFrame &frame = context.frame;
  const ProgramSequence &sequence = frame.sequence;
  Value run = b.index(context.run), all = b.addIndex(sequence.cached, sequence.queries);
  // Positions count from the first one of the block that the call goes on with.
  Value last = b.subIndex(all, b.minIndex(sequence.queries, run));
  Value begin = b.mulIndex(b.divIndex(all, run), run);
  auto store = [&](Value from, Value to) {
    Sweep{from, to, context.block}.forBlocks(b, [&](const BlockSpan &span) {
      Value place = arith::RemUIOp::create(b, span.position, run);
      for (auto [i, result] : llvm::enumerate(returnedBy(info.attention)))
        if (auto keep = result.getDefiningOp<KeepOp>();
            keep && isOfQueries(info, keep) == ofQueries)
          storeOfHead(b, frame, keep, ofQueries, [&, i = i](Value head) {
            storeRows(b, frame, keep, frame.result(i), head,
                      b.subIndex(span.position, sequence.cached), place, context.block, span.valid);
          });
    });
  };
  store(last, begin); // none where the block before is not among them
  store(arith::MaxSIOp::create(b, begin, last), all);
}

/// Keeps the call's last positions in rings.
static void storeRingRows(TileBuilder &b, const KernelInfo &info, const ProgramContext &context,
                          bool ofQueries) {
  const KernelFrame &frame = context.frame;
  const ProgramSequence &sequence = frame.sequence;
  Value end = b.addIndex(sequence.before, sequence.queries);
  for (auto [i, result] : llvm::enumerate(returnedBy(info.attention))) {
    auto keep = result.getDefiningOp<KeepOp>();
    if (!keep || isOfQueries(info, keep) != ofQueries)
      continue;
    Value pool = frame.result(i);
    // A longer call leaves as many rows as there are.
    Value rows = b.index(keep.getRows());
    Value last = b.subIndex(end, b.minIndex(sequence.queries, rows));
    context.ring(last, end).forBlocks(b, [&](const BlockSpan &span) {
      storeOfHead(b, frame, keep, ofQueries, [&](Value head) {
        storeRows(b, frame, keep, pool, head, b.subIndex(span.position, sequence.before),
                  arith::RemUIOp::create(b, span.position, rows), KeepOp::kRingBlock, span.valid);
      });
    });
  }
}

/// Calls `store` such that one program stores the rows of each head. Programs belong to key heads,
/// or to query heads: then the first program of a group also stores the rows of its key head.
static void storeOfHeads(TileBuilder &b, const KernelInfo &info, const ProgramContext &context,
                         llvm::function_ref<void(bool ofQueries)> store) {
  if (!info.hasStatePerQuery())
    return store(/*ofQueries=*/false);
  store(/*ofQueries=*/true);
  b.branch(context.frame.heads.isFirstOfGroup(b), [&] { store(/*ofQueries=*/false); });
}

void polyattn::storeKeptRows(TileBuilder &b, const KernelInfo &info,
                             const ProgramContext &context) {
  auto store = context.frame.sequence.cached ? storeRowsOf : storeRingRows;
  if (context.frame.sequence.cached || context.frame.sequence.before)
    storeOfHeads(b, info, context, [&](bool ofQueries) { store(b, info, context, ofQueries); });
}

void polyattn::storeZeros(TileBuilder &b, const KernelInfo &info, const ProgramContext &context,
                          int64_t rows) {
  const KernelFrame &frame = context.frame;
  const ProgramSequence &sequence = frame.sequence;
  if (!sequence.positions)
    return;
  Value length = b.index(rows);
  auto storeBlock = [&](Value position) {
    Value valid = b.minIndex(b.subIndex(sequence.positions, position), length);
    for (const auto &[number, value] : info.outputs)
      if (auto vector = dyn_cast<FeatureType>(value.getType()))
        tile::StoreOp::create(b, b.constant(rows, vector.getWidth(), 0), frame.result(number),
                              ValueRange{sequence.batch, sequence.rowOf(b, position),
                                         frame.heads.ofRows(), b.index(0)},
                              valid,
                              /*row_dim=*/1, /*col_dim=*/3);
  };
  context.share->inOneProgram(
      b, [&] { b.loop(sequence.queries, sequence.positions, length, storeBlock); });
}

/// Emits the body of the second kernel.
static void writeBack(TileBuilder &b, const KernelInfo &info, const ProgramContext &context) {
  ifStatesChange(b, context, [&] { writeBackStates(b, info, context); });
  storeKeptRows(b, info, context);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The final states that live in arguments: their results' names and types.
static SmallVector<std::pair<StringRef, RankedTensorType>> placedStates(const KernelInfo &info) {
  SmallVector<std::pair<StringRef, RankedTensorType>> states;
  AttentionOp attention = info.attention;
  for (auto [number, name, value] :
       llvm::zip_equal(workspacesOf(info), attention.getResultNames().getAsValueRange<StringAttr>(),
                       returnedBy(attention)))
    if (number)
      states.emplace_back(name, cast<RankedTensorType>(value.getType()));
  return states;
}

/// Calls of few tokens have no use for the workspaces, whose number of features then depends on the
/// call.
SmallVector<HiddenArgument> PlacedStateKernels::tensors() const {
  SmallVector<HiddenArgument> tensors;
  for (auto [name, type] : placedStates(info)) {
    SmallVector<int64_t> shape(type.getShape());
    if (info.steps().getTokens())
      shape[2] = ShapedType::kDynamic;
    tensors.push_back({("new_" + name).str(), RankedTensorType::get(shape, type.getElementType())});
  }
  return tensors;
}

tile::ExtentAttr polyattn::ifLongerThan(const Lowering &lowering, int64_t tokens, int64_t number) {
  constexpr int64_t kAboveAnyLength = int64_t(1) << 40;
  return tile::ExtentAttr::get(lowering.b.getContext(), tile::ExtentBase::Dimension,
                               lowering.info.tensors.queryTensor, /*dimension=*/1,
                               /*plus=*/-tokens, /*divisor=*/kAboveAnyLength, /*times=*/number);
}

KernelPrograms PlacedStateKernels::mainPrograms() const {
  if (info.hasBlocks())
    return info.blockPrograms(lowering.b);
  KernelPrograms programs = info.programs();
  if (int64_t tokens = info.steps().getTokens())
    programs.perHead = ifLongerThan(lowering, tokens, 1);
  return programs;
}

/// A program for each state, and none where all calls have updated theirs.
KernelPrograms PlacedStateKernels::programs() const {
  tile::ExtentAttr once;
  if (int64_t tokens = info.steps().getTokens())
    once = ifLongerThan(lowering, tokens, 1);
  return {once, /*keyHeads=*/!info.hasStatePerQuery()};
}

void PlacedStateKernels::build() const {
  OpenKernel kernel(lowering, lowering.named("__write_back"), tensors(), programs());
  auto write = [&] { writeBack(lowering.b, info, kernel.context()); };
  if (int64_t tokens = info.steps().getTokens())
    kernel.ifLonger(tokens, write);
  else
    write();
}

void PlacedStateKernels::writeWorkspaces(EntryBuilder &e) const {
  int64_t query = info.tensors.queryTensor;
  int64_t heads = info.hasStatePerQuery() ? info.tensors.queryHeads : info.tensors.keyHeads;
  int64_t tokens = info.steps().getTokens();
  for (auto [tensor, placed] : llvm::zip_equal(tensors(), placedStates(info))) {
    SmallVector<tile::ExtentAttr> leading = {info.tensors.batches(lowering.b.getContext(), query),
                                             e.dimension(heads, 2)};
    if (tokens)
      leading.push_back(ifLongerThan(lowering, tokens, placed.second.getDimSize(2)));
    e.workspace(tensor, leading);
  }
}

void PlacedStateKernels::writeStage(EntryBuilder &e) const {
  e.stage(lowering.named("__write_back"), info.tensors.gridOf(lowering.b, programs()),
          tile::StageRole::WriteBack);
}
