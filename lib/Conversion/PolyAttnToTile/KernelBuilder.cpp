//===- KernelBuilder.cpp - the block programs of one attention ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "Dependencies.h"
#include "polyattn/Entry/Signature.h"

using namespace mlir;
using namespace polyattn;

static MemRefType memrefOf(RankedTensorType tensor) {
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

/// The first tensor [B, T, H, d] that a vector is read from.
static Value sequenceTensor(Value vector) {
  Value tensor;
  walkDependencies(vector, [&](Value value) {
    auto read = value.getDefiningOp<ReadOp>();
    if (!read)
      return WalkResult::advance();
    if (cast<RankedTensorType>(read.getTensor().getType()).getRank() != 4)
      return WalkResult::skip();
    tensor = read.getTensor();
    return WalkResult::interrupt();
  });
  return tensor;
}

static bool dependsOnAttend(Value vector) {
  return walkDependencies(vector, [](Value value) {
    return value.getDefiningOp<AttendOp>() ? WalkResult::interrupt() : WalkResult::advance();
  });
}

void KernelBuilder::findSequences() {
  auto number = [](Value vector) -> std::optional<int64_t> {
    Value tensor = sequenceTensor(vector);
    return tensor ? std::optional(cast<BlockArgument>(tensor).getArgNumber()) : std::nullopt;
  };
  // A query that is read from no tensor has the positions and heads of the results.
  queryTensor = number(attends[0].getQuery());
  for (auto [i, result] : llvm::enumerate(returned()))
    if (!queryTensor && isa<FeatureType>(result.getType()))
      queryTensor = attention.getArgNames().size() + i;
  keyTensor = number(attends[0].getValue());
  if (!keyTensor)
    keyTensor = number(attends[0].getKey());
  bool hasEqualSides = sameHeads && attends[0].getMask() == Mask::Causal;
  if (hasEqualSides && !keyTensor)
    keyTensor = queryTensor;
  if (hasEqualSides && !queryTensor)
    queryTensor = keyTensor;
}

/// What one block program can hold.
LogicalResult KernelBuilder::check() {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  sameHeads = signature->sameHeads;
  llvm::append_range(attends, attention.getBody().front().getOps<AttendOp>());
  if (attends.empty())
    return attention.emitError("there is no `attend` in this attention");
  findSequences();
  if (!queryTensor)
    return attends[0].emitError("no tensor [B, T, H, d], read for the query or returned, says how "
                                "many positions and heads of queries there are");
  if (!keyTensor)
    return attends[0].emitError("neither key nor value is read from a tensor [B, T, H, d], which "
                                "would say how many positions and heads of keys there are");
  for (AttendOp attend : attends) {
    if (attend.getMask() != attends[0].getMask())
      return attend.emitError("attends of one attention must have the same mask: one program goes "
                              "over the positions once, for all of them");
    if (attend.getGrouping() != attends[0].getGrouping())
      return attend.emitError("attends of one attention must have the same grouping: one program "
                              "reads the keys of one head, for all of them");
    for (Value operand : attend.getOperands())
      if (dependsOnAttend(operand))
        return attend.emitError("an attend of what another attend computes needs an entry of its "
                                "own: the first one's blocks are not all there yet");
    Schedule &schedule = schedules.emplace_back(scheduleOf(attend));
    AttentionShape shape = AttentionShape::of(attend);
    if (schedule.form != ScheduleForm::Quadratic) {
      if (!shape.hasFeatures)
        return attend.emitError("the schedule asks for a state, but these scores have no features");
      if (shape.features > kMaxMonomials)
        return attend.emitError("a state of ")
               << shape.features << " features is too large to compute with, the limit is "
               << kMaxMonomials;
    }
    if (shape.localBlock && run && shape.localBlock != run)
      return attend.emitError("local kernels of one attention must have the same block");
    run = shape.localBlock ? shape.localBlock : run;
    if (schedule.form != ScheduleForm::State && shape.needsState)
      return attend.emitError("the schedule has no state, but one is asked for");
  }
  return success();
}

/// Opens a kernel over the attention's tensors and hidden ones.
void KernelBuilder::beginKernel(StringRef name, ArrayRef<HiddenArgument> hidden,
                                const KernelPrograms &programs) {
  b.setInsertionPoint(attention);
  SmallVector<Attribute> names(attention.getArgNames().begin(), attention.getArgNames().end());
  llvm::append_range(names, attention.getResultNames());
  auto tensors = llvm::to_vector(attention.getBody().getArgumentTypes());
  int64_t inputs = tensors.size();
  for (auto type : attention.getResultTypes().getAsValueRange<TypeAttr>())
    tensors.push_back(type);
  for (const HiddenArgument &tensor : hidden) {
    tensors.push_back(tensor.type);
    names.push_back(b.getStringAttr(tensor.name));
  }
  IntegerAttr segments, cluster;
  if (programs.segments)
    segments = b.getI64IntegerAttr(*programs.segments);
  if (clusterSize > 1)
    cluster = b.getI64IntegerAttr(clusterSize);
  int64_t key = *keyTensor, query = programs.keyHeads ? key : *queryTensor;
  interleaved = attends[0].getGrouping() == Grouping::Interleaved;
  kernel = tile::KernelOp::create(b, b.getStringAttr(name), b.getArrayAttr(names),
                                  b.getI64IntegerAttr(inputs), segments, cluster,
                                  b.getI64IntegerAttr(query), b.getI64IntegerAttr(key),
                                  b.getStringAttr(interleaved ? "interleaved" : "block"));
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : tensors)
    body->addArgument(memrefOf(cast<RankedTensorType>(type)), b.getLoc());
  for (int i = 0; i < (segments ? 5 : 4); ++i)
    body->addArgument(b.getIndexType(), b.getLoc());
  b.setInsertionPointToEnd(body);

  weights.emplace(kernel, attention);
  Value one = b.index(1);
  Value queries = memref::DimOp::create(b, kernel.getTensor(query), one);
  Value keys = memref::DimOp::create(b, kernel.getTensor(key), one);
  int64_t blockLength = INT64_MAX;
  for (const Schedule &schedule : schedules)
    blockLength = std::min(blockLength, schedule.block);
  // One head for both sides makes what they read and compute alike one value.
  Value kvHead = sameHeads || programs.keyHeads ? kernel.getHead() : kernel.getKvHead();
  context.emplace(ProgramContext{kernel, *weights, kernel.getBatch(), kernel.getHead(), kvHead,
                                 kernel.getGroup(), queries, keys,
                                 run ? std::min(blockLength, run) : blockLength, run,
                                 attends[0].getMask() == Mask::Causal, std::nullopt});
  context->skipsIdleState = options.skipIdleState;
  bindFirstPosition();
  bindCluster();
}

/// Where the call begins in the sequence of this program's batch.
void KernelBuilder::bindFirstPosition() {
  BlockArgument first = attention.getFirstPositionArgument();
  if (!first)
    return;
  Value number =
      memref::LoadOp::create(b, kernel.getTensor(first.getArgNumber()), kernel.getBatch());
  context->firstPosition = b.createOrFold<arith::ExtSIOp>(b.getI64Type(), number);
}

/// Writes a result in natural orientation; a concatenation is written part by part.
void KernelBuilder::storeResult(TileBuilder &b, VectorProgram &queries, Value vector, Value tensor,
                                Value column, const BlockPlace &place) {
  if (auto concat = vector.getDefiningOp<ConcatOp>()) {
    int64_t offset = 0;
    for (Value part : concat.getInputs()) {
      storeResult(b, queries, part, tensor, b.addIndex(column, b.index(offset)), place);
      offset += cast<FeatureType>(part.getType()).getWidth();
    }
    return;
  }
  tile::StoreOp::create(b, queries.natural(vector), tensor,
                        ValueRange{context->batch, place.position, context->head, column},
                        place.valid, /*row_dim=*/1, /*col_dim=*/3);
}

VectorProgram KernelBuilder::queryProgram(TileBuilder &b, const BlockPlace &place) {
  return VectorProgram(b, *weights, context->batch, context->head,
                       context->rows(b, place.position, place.valid), context->block);
}

void KernelBuilder::storeResults(TileBuilder &b, MutableArrayRef<AttendProgram> programs,
                                 ArrayRef<AttendProgram::Sums> sums, VectorProgram &queries,
                                 const BlockPlace &place) {
  for (auto [attend, program, sum] : llvm::zip(attends, programs, sums))
    queries.bind(attend.getOutput(), program.normalize(b, sum, place));
  queries.setBuilder(b);
  for (auto [i, result] : llvm::enumerate(returned()))
    if (isa<FeatureType>(result.getType()))
      storeResult(b, queries, result, resultTensor(i), b.index(0), place);
}

void KernelBuilder::block(TileBuilder &b, MutableArrayRef<AttendProgram> programs,
                          const BlockPlace &place) {
  VectorProgram queries = queryProgram(b, place);
  SmallVector<AttendProgram::Sums> sums;
  for (AttendProgram &program : programs)
    sums.push_back(program.block(b, queries, place));
  if (!context->hasCalls()) {
    sumOverCluster(b, sums);
    inFirstOfCluster(b, *context,
                     [&](TileBuilder &b) { storeResults(b, programs, sums, queries, place); });
    return;
  }
  Value alone =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, context->split->splits, b.index(1));
  scf::IfOp::create(
      b, alone,
      [&](OpBuilder &builder, Location loc) {
        TileBuilder inside(loc, builder);
        storeResults(inside, programs, sums, queries, place);
        scf::YieldOp::create(builder, loc);
      },
      [&](OpBuilder &builder, Location loc) {
        TileBuilder inside(loc, builder);
        storePartial(inside, programs, sums, place);
        scf::YieldOp::create(builder, loc);
      });
}

std::vector<AttendProgram> KernelBuilder::makePrograms(Variant variant) {
  std::vector<AttendProgram> programs;
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    Schedule chosen = schedule;
    if (chosen.form == ScheduleForm::Both)
      chosen.form = variant == Variant::Quadratic ? ScheduleForm::Quadratic : ScheduleForm::State;
    if (variant == Variant::OneBlock)
      chosen.form = ScheduleForm::Quadratic;
    programs.emplace_back(attend, chosen, *context);
  }
  if (context->segment)
    bindSegment(programs);
  return programs;
}

using BlockBody = function_ref<void(TileBuilder &, const BlockPlace &)>;

/// A loop over the blocks of [from, to); the run of each begins at `from`.
static void forBlocks(TileBuilder &b, Value from, Value to, int64_t length, BlockBody body) {
  Value step = b.index(length);
  scf::ForOp::create(b, from, to, step, ValueRange(),
                     [&](OpBuilder &builder, Location loc, Value position, ValueRange) {
                       TileBuilder inside(loc, builder);
                       Value left = arith::SubIOp::create(inside, to, position);
                       Value valid = arith::MinSIOp::create(inside, left, step);
                       body(inside, BlockPlace{position, valid, from});
                       scf::YieldOp::create(builder, loc);
                     });
}

/// Where updates with the run [start, end) end: at its start where nobody reads the state after it.
static Value endOfUpdates(TileBuilder &b, ArrayRef<AttendProgram> programs, Value start,
                          Value end) {
  Value isRead;
  for (const AttendProgram &program : programs) {
    if (!program.updatesAfterRun())
      continue;
    isRead = program.isStateReadAfter(b, end);
    if (!isRead)
      return end;
  }
  return isRead ? arith::SelectOp::create(b, isRead, end, start) : end;
}

/// The loops over blocks, in one of the two forms where there is a choice.
void KernelBuilder::program(TileBuilder &b, Variant variant) {
  bool quadratic = variant == Variant::Quadratic;
  // The quadratic form has no features to cut.
  std::optional<SplitContext> split = context->split;
  if (quadratic)
    context->split.reset();
  // Nor is it ever cut by positions: it would have to see all keys.
  std::optional<SegmentContext> segment = context->segment;
  if (quadratic)
    context->segment.reset();
  std::vector<AttendProgram> programs = makePrograms(variant);
  for (AttendProgram &program : programs)
    program.begin(b);

  Value from = context->segment ? context->segment->begin : Value(b.index(0));
  Value to = context->segment ? context->segment->end : context->queries;
  auto perBlock = [&](TileBuilder &b, const BlockPlace &place) { block(b, programs, place); };
  if (context->run <= context->block) {
    forBlocks(b, from, to, context->block, perBlock);
  } else {
    Value length = b.index(context->run);
    scf::ForOp::create(b, from, to, length, ValueRange(),
                       [&](OpBuilder &builder, Location loc, Value start, ValueRange) {
                         TileBuilder inside(loc, builder);
                         Value end =
                             arith::MinSIOp::create(inside, inside.addIndex(start, length), to);
                         forBlocks(inside, start, end, context->block, perBlock);
                         Value updated = endOfUpdates(inside, programs, start, end);
                         forBlocks(inside, start, updated, context->block,
                                   [&](TileBuilder &b, const BlockPlace &place) {
                                     for (AttendProgram &program : programs)
                                       if (program.updatesAfterRun())
                                         program.update(b, place);
                                   });
                         scf::YieldOp::create(builder, loc);
                       });
  }

  finish(b, programs);
  context->split = split;
  context->segment = segment;
}

/// Writes the final states, in the program of the last positions.
void KernelBuilder::finish(TileBuilder &b, MutableArrayRef<AttendProgram> programs) {
  auto finishAll = [&](TileBuilder &b) {
    for (auto [attend, program] : llvm::zip(attends, programs)) {
      FinalTensors tensors;
      for (auto [i, result] : llvm::enumerate(returned())) {
        if (result.getDefiningOp() != attend || result == attend.getOutput())
          continue;
        bool isState = result == attend.getFinalStates().front();
        (isState ? tensors.states : tensors.normalizers).push_back(resultTensor(i));
      }
      program.finish(b, tensors, interleaved);
    }
  };
  bool given = llvm::any_of(attends, [](AttendOp attend) { return attend.getFinalState(); });
  if (!context->segment || !given)
    return finishAll(b);
  Value next = b.addIndex(context->segment->segment, b.index(1));
  Value isLast =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, context->segment->segments);
  scf::IfOp::create(b, isLast, [&](OpBuilder &builder, Location loc) {
    TileBuilder inside(loc, builder);
    finishAll(inside);
    scf::YieldOp::create(builder, loc);
  });
}

/// The length of the shortest block that calls of few positions have, 0 where they are as the
/// others. A block costs as much as if it were full.
int64_t KernelBuilder::shortBlock() {
  int64_t positions = cast<MemRefType>(kernel.getTensor(*queryTensor).getType()).getDimSize(1);
  bool isKnownLong = !ShapedType::isDynamic(positions) && positions > options.shortBlock;
  bool needsState =
      llvm::any_of(attends, [](AttendOp attend) { return AttentionShape::of(attend).needsState; });
  return context->causal && !needsState && !isKnownLong ? options.shortBlock : 0;
}

/// A call whose positions fit one block: all pairs by scores, no state and no loops.
void KernelBuilder::oneBlock(TileBuilder &b, int64_t length) {
  ProgramContext outside = *context;
  context->block = length;
  context->run = std::min(context->run, length);
  context->split.reset();
  context->segment.reset();
  std::vector<AttendProgram> programs = makePrograms(Variant::OneBlock);
  Value zero = b.index(0);
  block(b, programs, BlockPlace{zero, context->queries, zero, /*isOnly=*/true});
  context.emplace(outside);
}

/// One block of `length` positions, or of twice as many, for calls that it is long
/// enough for. It is no longer than a local kernel's: positions of two of those see each other
/// otherwise.
void KernelBuilder::shortOrLong(TileBuilder &b, int64_t length, int64_t quadraticBelow) {
  if (length > 2 * shortBlock() || (context->run && length > context->run))
    return programs(b, quadraticBelow);
  branch(
      b, length + 1, [&](TileBuilder &b) { oneBlock(b, length); },
      [&](TileBuilder &b) { shortOrLong(b, 2 * length, quadraticBelow); });
}

/// Emits `few` for calls of fewer keys than `limit` whose heads are not cut, `many` for the others.
void KernelBuilder::branch(TileBuilder &b, int64_t limit, function_ref<void(TileBuilder &)> few,
                           function_ref<void(TileBuilder &)> many) {
  auto equal = [&](Value a, int64_t number) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, a, b.index(number));
  };
  Value isShort =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, context->keys, b.index(limit));
  if (context->split) {
    Value isFirst = equal(context->split->base, 0), alone = equal(context->split->splits, 1);
    isShort = arith::AndIOp::create(b, isShort, arith::AndIOp::create(b, isFirst, alone));
  }
  if (context->segment)
    isShort = arith::AndIOp::create(b, isShort, equal(context->segment->segments, 1));
  auto region = [](function_ref<void(TileBuilder &)> body) {
    return [body](OpBuilder &builder, Location loc) {
      TileBuilder inside(loc, builder);
      body(inside);
      scf::YieldOp::create(builder, loc);
    };
  };
  scf::IfOp::create(b, isShort, region(few), region(many));
}

/// The form with a state, and the quadratic one for calls that are shorter than `quadraticBelow`.
void KernelBuilder::programs(TileBuilder &b, int64_t quadraticBelow) {
  auto of = [&](Variant variant) {
    return [this, variant](TileBuilder &b) { program(b, variant); };
  };
  if (quadraticBelow)
    branch(b, quadraticBelow, of(Variant::Quadratic), of(Variant::State));
  else
    program(b, Variant::State);
}

LogicalResult KernelBuilder::build() {
  if (failed(check()))
    return failure();
  if (options.cutHeads)
    cutByFeatures();
  // Parts of the features do no work twice; segments are for what has too few features.
  hasSegments = options.cutPositions && maxSplits == 1 && canCutPositions();
  clusterSize = chooseClusterSize();
  statePerQuery =
      llvm::any_of(attends, [](AttendOp attend) { return attend.getGateHeads() == GateHeads::Q; });
  int64_t below = 0;
  for (const Schedule &schedule : schedules)
    if (schedule.form == ScheduleForm::Both)
      below = below ? std::min(below, schedule.quadraticBelow) : schedule.quadraticBelow;
  if (maxSplits > 1)
    combine();
  beginMain(below);
  if (int64_t length = shortBlock())
    shortOrLong(b, length, below);
  else
    programs(b, below);
  narrowWeights();
  if (hasSegments) {
    sumSegments();
    narrowWeights();
  }
  attention.erase();
  return success();
}

/// Opens the kernel that computes the results. Its attributes are what a launcher must know.
void KernelBuilder::beginMain(int64_t quadraticBelow) {
  auto number = [&](StringRef name, int64_t value) {
    kernel->setAttr(("polyattn." + name).str(), b.getI64IntegerAttr(value));
  };
  if (maxSplits > 1) {
    beginKernel(attention.getSymName(), partTensors(/*rank=*/4));
    bindPart();
    // At most this many parts, for no fewer positions than where the quadratic form ends, cut at
    // multiples of `segment`.
    number("max_splits", maxSplits);
    number("partial_columns", partialColumns);
    number("segment", std::max(context->block, context->run));
    number("split_from", quadraticBelow);
  } else if (hasSegments) {
    SmallVector<HiddenArgument> hidden = segmentTensors();
    beginKernel(attention.getSymName(), hidden, {/*segments=*/0});
    context->segment = segmentOf(b, /*isSums=*/false);
    kernel->setAttr("polyattn.hidden", segmentSizes(hidden));
    kernel->setAttr("polyattn.segment_rule", segmentRule(quadraticBelow));
  } else {
    beginKernel(attention.getSymName());
  }
}
