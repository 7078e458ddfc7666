//===- ChunkwiseKernels.cpp - the kernels of the form `chunkwise` ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkwiseKernels.h"
#include "SegmentSums.h"
#include "dialects/PolyAttn/StateTerms.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Tensors and programs
//===----------------------------------------------------------------------===//

FeatureRange ChunkwiseKernels::StateInfo::range(int64_t block) const {
  return StateProgram::shapeOf(state, block).range;
}

FeatureRange ChunkwiseKernels::prefixRange(const StateInfo &info) const {
  FeatureRange range = info.range(kernel.cut().getPrefixFeatures());
  if (!range.block)
    range.block = range.features;
  return range;
}

std::vector<ChunkwiseKernels::StateInfo> ChunkwiseKernels::stateInfos() const {
  std::vector<StateInfo> infos;
  for (auto [i, state] : llvm::enumerate(kernel.states)) {
    StateInfo &info = infos.emplace_back();
    info.state = state;
    info.suffix = kernel.states.size() > 1 ? std::to_string(i) : "";
    for (auto [attend, schedule] : llvm::zip(kernel.attends, kernel.schedules))
      if (AttendOp(attend).getState() == StateUpdateInterface(state).getSums()) {
        info.featureBlock =
            std::max(info.featureBlock, schedule.featureBlock * kernel.cut().getSumBlocks());
        info.hasFinal |= bool(AttendOp(attend).getFinalState());
      }
  }
  return infos;
}

static HiddenArgument tensor(const Twine &name, ArrayRef<int64_t> sizes, Type element) {
  constexpr int64_t any = ShapedType::kDynamic;
  SmallVector<int64_t> shape = {any, any, any}; // segments, batches, heads
  llvm::append_range(shape, sizes);
  return {name.str(), RankedTensorType::get(shape, element)};
}

/// A workspace's name is the only one of its entry.
std::string ChunkwiseKernels::nameOf(StringRef tensor, const StateInfo &info) const {
  std::string mask = kernel.mask == Mask::Causal ? "" : "_" + stringifyMask(kernel.mask).str();
  return tensor.str() + mask + (kernel.ofKeys ? "_of_keys" : "") + info.suffix;
}

/// What segments add to a state: rows, normalizers, and the logarithms of their decays.
SmallVector<HiddenArgument> ChunkwiseKernels::sumTensors(const StateInfo &info, Builder &b) const {
  BlockState::Shape shape = StateProgram::shapeOf(info.state, info.featureBlock);
  SmallVector<HiddenArgument> tensors;
  Type f32 = b.getF32Type();
  if (shape.width)
    tensors.push_back(
        tensor(nameOf("segment_sums", info), {shape.range.features, shape.width}, f32));
  if (shape.hasNormalizer)
    tensors.push_back(tensor(nameOf("segment_normalizers", info), shape.range.features, f32));
  if (info.state.hasDecay())
    tensors.push_back(tensor(nameOf("segment_decays", info), {}, f32));
  return tensors;
}

/// The states before segments.
SmallVector<HiddenArgument> ChunkwiseKernels::stateTensors(const StateInfo &info,
                                                           Builder &b) const {
  BlockState::Shape shape = StateProgram::shapeOf(info.state, info.featureBlock);
  SmallVector<HiddenArgument> tensors;
  FloatType chosen = kernel.chunks().states;
  Type stored = chosen ? Type(chosen) : b.getF32Type();
  if (shape.width)
    tensors.push_back(tensor(nameOf("states", info), {shape.range.features, shape.width}, stored));
  if (shape.hasNormalizer)
    tensors.push_back(tensor(nameOf("normalizers", info), shape.range.features, b.getF32Type()));
  return tensors;
}

/// The tensors of a state from workspace `next` on, which becomes that behind them.
ChunkwiseKernels::Tensors ChunkwiseKernels::bind(const StateInfo &info, const KernelFrame &frame,
                                                 unsigned &next, bool ofSums) const {
  BlockState::Shape shape = StateProgram::shapeOf(info.state, info.featureBlock);
  Tensors tensors;
  if (shape.width)
    tensors.rows = frame.workspace(next++);
  if (shape.hasNormalizer)
    tensors.normalizers = frame.workspace(next++);
  if (ofSums && info.state.hasDecay())
    tensors.decays = frame.workspace(next++);
  return tensors;
}

/// `times` for each segment of keys but the first `without` positions.
tile::ExtentAttr ChunkwiseKernels::keysBy(Builder &b, int64_t without, int64_t times) const {
  return tile::ExtentAttr::get(b.getContext(), tile::ExtentBase::Dimension,
                               kernel.tensors.keyTensor,
                               /*dimension=*/1, /*plus=*/-without, kernel.segment(), times);
}

static int64_t countBlocks(const FeatureRange &range) {
  return llvm::divideCeil(range.features, range.blockSize());
}

KernelPrograms ChunkwiseKernels::sumPrograms(const StateInfo &info, Builder &b) const {
  int64_t without = sumsAll(info) ? 0 : kernel.segment();
  return {keysBy(b, without, countBlocks(info.range(info.featureBlock))),
          /*keyHeads=*/!haveHeadsOfRows()};
}

KernelPrograms ChunkwiseKernels::prefixPrograms(const StateInfo &info, Builder &b) const {
  return {tile::ExtentAttr::number(b.getContext(), countBlocks(prefixRange(info))),
          /*keyHeads=*/!haveHeadsOfRows()};
}

SmallVector<HiddenArgument> ChunkwiseKernels::stateTensors(Builder &b) const {
  SmallVector<HiddenArgument> tensors;
  for (const StateInfo &info : stateInfos())
    llvm::append_range(tensors, stateTensors(info, b));
  return tensors;
}

ProgramContext ChunkwiseKernels::contextOf(KernelFrame &frame,
                                           std::shared_ptr<const FeatureShare> share) const {
  return {frame,          std::move(share), std::nullopt, kernel.block(),
          kernel.block(), kernel.run,       kernel.mask,  skipsIdleState};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The last block may have fewer features than the others: it has code of its own.
void ChunkwiseKernels::forFeatureBlock(
    TileBuilder &b, const FeatureRange &range, Value block,
    function_ref<void(std::shared_ptr<const FeatureShare>)> body) const {
  int64_t size = range.blockSize(), rest = range.features - range.whole();
  auto of = [&](Value first, int64_t count) {
    return [=, &body] { body(std::make_shared<FeatureBlockShare>(first, count)); };
  };
  Value first = countBlocks(range) == 1 ? b.index(0) : b.mulIndex(block, b.index(size));
  if (!rest)
    return of(first, size)();
  Value isLast = b.isEqual(block, b.index(range.whole() / size));
  b.branch(isLast, of(b.index(range.whole()), rest), of(first, size));
}

/// Backwards the first segment's sum is needed for the final state only.
void ChunkwiseKernels::buildSums(TileBuilder &b, const StateInfo &info) const {
  SmallVector<HiddenArgument> tensors = sumTensors(info, b);
  for (const StoredResult &rows : kernel.imported)
    tensors.push_back(rows.workspaceOfRows(b));
  KernelFrame frame(b, name + "__sums" + info.suffix, kernel.tensors, tensors,
                    sumPrograms(info, b));
  FeatureRange range = info.range(info.featureBlock);
  Value blocks = b.index(countBlocks(range)), length = b.index(kernel.segment());
  Value slot = b.divIndex(frame.segment, blocks);
  Value block = arith::RemUIOp::create(b, frame.segment, blocks);
  Value segment = isForwards() || sumsAll(info) ? slot : b.addIndex(slot, b.index(1));
  Value begin = b.mulIndex(segment, length);
  Value end = b.minIndex(b.addIndex(begin, length), frame.sequence.keys);
  unsigned next = 0;
  Tensors sums = bind(info, frame, next, /*ofSums=*/true);
  for (const StoredResult &rows : kernel.imported)
    frame.weights.bindRows(rows.result, frame.workspace(next++));
  Value head = headOf(frame);
  ifLong(b, frame, [&] {
    forFeatureBlock(b, range, block, [&](std::shared_ptr<const FeatureShare> share) {
      ProgramContext context = contextOf(frame, std::move(share));
      context.segment = {slot, Value(), begin, end, Value()};
      StateProgram state(info.state, info.featureBlock, context);
      state.setSegmentStates(
          {sums.rows, sums.normalizers, sums.decays, frame.sequence.batch, head});
      sumSegment(b, context, &state);
    });
  });
}

void ChunkwiseKernels::buildPrefix(TileBuilder &b, const StateInfo &info) const {
  SmallVector<HiddenArgument> tensors = sumTensors(info, b);
  llvm::append_range(tensors, stateTensors(info, b));
  KernelFrame frame(b, name + "__prefix" + info.suffix, kernel.tensors, tensors,
                    prefixPrograms(info, b));
  unsigned next = 0;
  Tensors sums = bind(info, frame, next, /*ofSums=*/true);
  Tensors states = bind(info, frame, next, /*ofSums=*/false);
  Value head = headOf(frame);
  SmallVector<Value> finals, finalNormalizers;
  for (AttendOp attend : kernel.attends)
    if (attend.getState() == info.state.getSums())
      for (const Output &output : kernel.outputs)
        for (auto [part, final] : llvm::enumerate(attend.getFinalStates()))
          if (output.value == final)
            (part ? finalNormalizers : finals).push_back(frame.result(output.number));
  FeatureRange range = prefixRange(info);
  auto before = [&](Value segment) -> StoredState {
    return {states.rows, states.normalizers, {segment, frame.sequence.batch, head}};
  };
  ifLong(b, frame, [&] {
    forFeatureBlock(b, range, frame.segment, [&](std::shared_ptr<const FeatureShare> share) {
      ProgramContext context = contextOf(frame, std::move(share));
      StateProgram state(info.state, range.block, context);
      state.setSegmentStates(
          {sums.rows, sums.normalizers, sums.decays, frame.sequence.batch, head});
      addSegments(b, context, state, before, info.hasFinal);
      state.tensors().storeFinal(b, finals, finalNormalizers);
    });
  });
}

/// Whether a call has several segments; null where all have. Else all its positions are one, and
/// nobody reads a state.
Value ChunkwiseKernels::isLong(TileBuilder &b, const KernelFrame &frame) const {
  int64_t below = kernel.chunks().quadraticBelow;
  if (!below)
    return {};
  return b.compare(arith::CmpIPredicate::sge, frame.sequence.keys, b.index(below));
}

void ChunkwiseKernels::ifLong(TileBuilder &b, const KernelFrame &frame,
                              TileBuilder::Branch body) const {
  if (Value condition = isLong(b, frame))
    b.branch(condition, body);
  else
    body();
}

/// The segment of a program's block of queries. Under the full mask it has no keys, and all of them
/// are before it.
SegmentContext ChunkwiseKernels::segmentOf(TileBuilder &b, const KernelFrame &frame,
                                           Value position) const {
  Value all = frame.sequence.keys;
  Value length = b.index(kernel.segment()), zero = b.index(0), one = b.index(1);
  if (!isOrdered()) {
    Value hasSegments = isLong(b, frame);
    if (!hasSegments)
      return {one, b.index(2), zero, zero, Value()};
    Value keys = b.select(hasSegments, zero, all);
    return {b.select(hasSegments, one, zero), b.index(2), zero, keys, Value()};
  }
  Value number = b.divIndex(position, length), begin = b.mulIndex(number, length);
  Value end = b.minIndex(b.addIndex(begin, length), all);
  Value segments = b.divIndex(b.addIndex(all, b.subIndex(length, one)), length);
  if (Value hasSegments = isLong(b, frame)) {
    begin = b.select(hasSegments, begin, zero);
    end = b.select(hasSegments, end, all);
    number = b.select(hasSegments, number, zero);
    segments = b.select(hasSegments, segments, one);
  }
  return {number, segments, begin, end, Value()};
}

void ChunkwiseKernels::buildQueries(TileBuilder &b, unsigned first, Value position,
                                    ProgramContext context) const {
  const KernelFrame &frame = context.frame;
  SegmentContext own = segmentOf(b, frame, position);
  // Scores that come from features are needed where no state is, too.
  bool readsAlways = llvm::any_of(kernel.schedules, [](const Schedule &schedule) {
    return schedule.diagonal == ScheduleDiagonal::Features;
  });
  bool isGiven = llvm::any_of(
      kernel.states, [](StateUpdateInterface state) { return bool(state.getInitialState()); });
  if (!readsAlways && !isGiven)
    context.share = std::make_shared<FeaturesIf>(
        own.isEntered(b, isForwards() ? Direction::Forwards : Direction::Backwards));
  context.chunk = own;
  llvm::DenseMap<Operation *, StoredState> stored;
  for (const StateInfo &info : stateInfos()) {
    Tensors states = bind(info, frame, first, /*ofSums=*/false);
    stored[info.state] = {
        states.rows,
        states.normalizers,
        {isOrdered() ? own.segment : b.index(0), frame.sequence.batch, headOf(frame)}};
  }
  KernelProgram(kernel, ScheduleForm::Chunkwise, context)
      .buildChunk(b, position, [&](StateUpdateInterface state) { return stored.lookup(state); });
}

void ChunkwiseKernels::buildStates(TileBuilder &b, AttentionOp attention) const {
  for (const StateInfo &info : stateInfos()) {
    b.setInsertionPoint(attention);
    buildSums(b, info);
    b.setInsertionPoint(attention);
    buildPrefix(b, info);
  }
}

EntryBuilder::Uses ChunkwiseKernels::writeStages(EntryBuilder &e, OpBuilder &b) const {
  const KernelTensors &all = kernel.tensors;
  int64_t heads = haveHeadsOfRows() ? all.queryHeads : all.keyHeads;
  auto workspaces = [&](ArrayRef<HiddenArgument> tensors, tile::ExtentAttr segments) {
    for (const HiddenArgument &tensor : tensors)
      e.workspace(tensor,
                  {segments, all.batches(b.getContext(), all.queryTensor), e.dimension(heads, 2)});
  };
  EntryBuilder::Uses read;
  for (const StateInfo &info : stateInfos()) {
    e.use({});
    workspaces(sumTensors(info, b), keysBy(b, sumsAll(info) ? 0 : kernel.segment(), /*times=*/1));
    EntryBuilder::Uses sums = e.use({});
    e.use(sums);
    for (const StoredResult &rows : kernel.imported)
      e.useAlso(rows.name);
    e.stage(name + "__sums" + info.suffix, all.gridOf(b, sumPrograms(info, b)),
            tile::StageRole::SegmentSums);
    e.use({});
    workspaces(stateTensors(info, b),
               isOrdered() ? keysBy(b, /*without=*/0, /*times=*/1) : e.number(1));
    EntryBuilder::Uses states = e.use({});
    llvm::append_range(read, states);
    llvm::append_range(sums, states);
    e.use(sums);
    e.stage(name + "__prefix" + info.suffix, all.gridOf(b, prefixPrograms(info, b)),
            tile::StageRole::SegmentStates);
  }
  e.forgetWorkspaces();
  return read;
}
