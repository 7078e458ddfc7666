//===- CutPositions.cpp - programs that share a head by its positions -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeaturePlan.h"
#include "KernelBuilder.h"

using namespace mlir;
using namespace polyattn;

/// A segment needs all that the positions before it say in one state.
bool KernelBuilder::canCutPositions() {
  return llvm::all_of(llvm::zip(attends, schedules), [](auto pair) {
    auto [attend, schedule] = pair;
    return attend.getMask() == Mask::Causal && schedule.form != ScheduleForm::Quadratic;
  });
}

/// For each attend what SegmentSums has, in its order.
SmallVector<HiddenArgument> KernelBuilder::segmentTensors() {
  SmallVector<HiddenArgument> tensors;
  constexpr int64_t any = ShapedType::kDynamic;
  for (auto [i, attend] : llvm::enumerate(attends)) {
    std::string number = attends.size() > 1 ? std::to_string(i) : "";
    auto add = [&](StringRef name, ArrayRef<int64_t> shape) {
      tensors.push_back({(name + number).str(), RankedTensorType::get(shape, b.getF32Type())});
    };
    int64_t features = planFeatures(attend.getKey()).monomials.size();
    add("segment_states",
        {any, any, any, features, cast<FeatureType>(attend.getValue().getType()).getWidth()});
    if (attend.getNormalizer().getKind() != NormalizerKind::None)
      add("segment_normalizers", {any, any, any, features});
    if (attend.hasDecay())
      add("segment_decays", {any, any, any});
  }
  return tensors;
}

/// The attribute `polyattn.hidden`: all begin with [S - 1, B, Hs].
ArrayAttr KernelBuilder::segmentSizes(ArrayRef<HiddenArgument> tensors) {
  auto size = [&](int64_t tensor, int64_t dimension) {
    return b.getI64ArrayAttr({tensor, dimension});
  };
  SmallVector<Attribute> all;
  for (const HiddenArgument &tensor : tensors) {
    SmallVector<Attribute> sizes = {b.getI64ArrayAttr({-1}), size(*queryTensor, 0),
                                    size(statePerQuery ? *queryTensor : *keyTensor, 2)};
    for (int64_t fixed : tensor.type.getShape().drop_front(3))
      sizes.push_back(b.getI64IntegerAttr(fixed));
    all.push_back(b.getArrayAttr(sizes));
  }
  return b.getArrayAttr(all);
}

/// The attribute `polyattn.segment_rule`.
DictionaryAttr KernelBuilder::segmentRule(int64_t quadraticBelow) {
  double sums = 0, all = 0;
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    PositionCosts costs = PositionCosts::of(attend, schedule);
    sums += costs.sums;
    all += costs.all;
  }
  auto number = [&](StringRef name, int64_t value) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(value));
  };
  auto size = [&](StringRef name, int64_t tensor, int64_t dimension) {
    return b.getNamedAttr(name, b.getI64ArrayAttr({tensor, dimension}));
  };
  return b.getDictionaryAttr(
      {b.getNamedAttr("states", b.getStringAttr(attention.getSymName() + "__states")),
       number("block", context->block), number("unit", std::max(context->block, context->run)),
       number("whole_below", quadraticBelow),
       number("states_percent", std::llround(100 * sums / all)), number("pieces", options.pieces),
       size("positions", *queryTensor, 1),
       size("state_heads", statePerQuery ? *queryTensor : *keyTensor, 2)});
}

/// Gives the attends of a program their hidden tensors.
void KernelBuilder::bindSegment(MutableArrayRef<AttendProgram> programs) {
  // A program of the first kernel is a head of the state.
  bool isSums = int64_t(*kernel.getSegments()) < 0;
  Value head = isSums || statePerQuery ? kernel.getHead() : context->kvHead;
  int64_t next = kernel.getNumInputs() + returned().size();
  for (auto [attend, program] : llvm::zip(attends, programs)) {
    SegmentSums sums;
    sums.states = kernel.getTensor(next++);
    if (program.normalized())
      sums.normalizers = kernel.getTensor(next++);
    if (attend.hasDecay())
      sums.decays = kernel.getTensor(next++);
    sums.head = head;
    program.setSegmentSums(sums);
  }
}

/// A program's positions: all segments have one length but the last ones, and so have the pieces
/// of a segment.
SegmentContext KernelBuilder::segmentOf(TileBuilder &b, bool isSums) {
  Value states = kernel.getTensor(kernel.getNumInputs() + returned().size());
  Value unit = b.index(std::max(context->block, context->run)), one = b.index(1);
  Value pieces = b.index(options.pieces);
  auto times = [&](Value a, Value c) { return b.createOrFold<arith::MulIOp>(a, c); };
  auto least = [&](Value a, Value c) -> Value { return arith::MinSIOp::create(b, a, c); };
  auto divide = [&](Value number, Value by) -> Value { // rounding up
    Value before = arith::SubIOp::create(b, b.addIndex(number, by), one);
    return arith::DivUIOp::create(b, before, by);
  };
  Value sums = memref::DimOp::create(b, states, b.index(0));
  Value segments = b.addIndex(b.createOrFold<arith::DivUIOp>(sums, pieces), one);
  Value units = divide(divide(context->keys, unit), segments);
  Value length = arith::MulIOp::create(b, units, unit);
  Value segment = kernel.getSegment(), sumsBefore = times(segment, pieces);
  if (!isSums || options.pieces == 1) {
    Value begin = least(times(segment, length), context->keys);
    Value end = least(b.addIndex(begin, length), context->keys);
    return SegmentContext{segment, segments, begin, end, sumsBefore};
  }
  Value whole = arith::DivUIOp::create(b, segment, pieces);
  Value piece = arith::RemUIOp::create(b, segment, pieces);
  Value pieceLength = times(divide(units, pieces), unit), first = times(whole, length);
  Value limit = least(b.addIndex(first, length), context->keys);
  Value begin = least(b.addIndex(first, times(piece, pieceLength)), limit);
  Value end = least(b.addIndex(begin, pieceLength), limit);
  return SegmentContext{segment, segments, begin, end, sumsBefore};
}

/// The kernel that stores the sums of all segments but the last.
void KernelBuilder::sumSegments() {
  SmallVector<HiddenArgument> hidden = segmentTensors();
  beginKernel((attention.getSymName() + "__states").str(), hidden,
              {/*segments=*/-1, /*keyHeads=*/!statePerQuery});
  kernel->setAttr("polyattn.hidden", segmentSizes(hidden));
  context->segment = segmentOf(b, /*isSums=*/true);
  std::vector<AttendProgram> programs = makePrograms(Variant::State);
  SmallVector<Value> decays;
  for (AttendProgram &program : programs) {
    program.beginSums(b);
    if (program.hasDecayByPosition())
      decays.push_back(b.constant(1, 1, 0));
  }
  Value step = b.index(context->block), end = context->segment->end;
  auto loop = scf::ForOp::create(
      b, context->segment->begin, end, step, decays,
      [&](OpBuilder &builder, Location loc, Value position, ValueRange in) {
        TileBuilder inside(loc, builder);
        Value left = arith::SubIOp::create(inside, end, position);
        BlockPlace place{position, arith::MinSIOp::create(inside, left, step), position};
        SmallVector<Value> sums;
        for (AttendProgram &program : programs) {
          Value decay = program.update(inside, place);
          if (program.hasDecayByPosition())
            sums.push_back(inside.add(in[sums.size()], decay));
        }
        scf::YieldOp::create(builder, loc, sums);
      });
  size_t next = 0;
  for (AttendProgram &program : programs)
    program.storeSums(b, program.hasDecayByPosition() ? loop.getResult(next++) : Value());
}
