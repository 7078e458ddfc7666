//===- PolyAttnToTile.cpp - attentions become block programs --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Entry/Signature.h"

namespace polyattn {
#define GEN_PASS_DEF_CONVERTPOLYATTNTOTILE
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

MemRefType memrefOf(RankedTensorType tensor) {
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

/// The first tensor [B, T, H, d] that a vector is read from.
Value sequenceTensor(Value vector) {
  if (auto read = vector.getDefiningOp<ReadOp>())
    return cast<RankedTensorType>(read.getTensor().getType()).getRank() == 4 ? read.getTensor()
                                                                             : Value();
  if (Operation *op = vector.getDefiningOp())
    for (Value operand : op->getOperands())
      if (Value tensor = sequenceTensor(operand))
        return tensor;
  return {};
}

bool dependsOnAttend(Value vector) {
  Operation *op = vector.getDefiningOp();
  return op && (isa<AttendOp>(op) || llvm::any_of(op->getOperands(), dependsOnAttend));
}

/// Lowers one attention: its kernel, and where its features can be cut the kernel that adds the
/// parts.
class KernelBuilder {
public:
  KernelBuilder(AttentionOp attention, bool cutHeads)
      : attention(attention), b(attention.getLoc(), attention), cutHeads(cutHeads) {}

  LogicalResult build();

private:
  LogicalResult check();
  void beginKernel(StringRef name, int64_t partialRank);
  void cutByFeatures();
  void program(TileBuilder &builder, bool quadratic);
  void combine();
  std::vector<AttendProgram> makePrograms(bool quadratic);
  VectorProgram queryProgram(TileBuilder &builder, const BlockPlace &place);
  void block(TileBuilder &builder, MutableArrayRef<AttendProgram> programs,
             const BlockPlace &place);
  void storePartial(TileBuilder &builder, MutableArrayRef<AttendProgram> programs,
                    ArrayRef<AttendProgram::Sums> sums, const BlockPlace &place);
  void storeResults(TileBuilder &builder, MutableArrayRef<AttendProgram> programs,
                    ArrayRef<AttendProgram::Sums> sums, VectorProgram &queries,
                    const BlockPlace &place);
  void storeResult(TileBuilder &builder, VectorProgram &queries, Value vector, Value tensor,
                   Value column, const BlockPlace &place);
  Value resultTensor(unsigned i) { return kernel.getTensor(kernel.getNumInputs() + i); }
  /// The tensors that no caller sees, after the results.
  Value partialTensor() { return kernel.getTensor(kernel.getNumTensors() - 2); }
  Value launchTensor() { return kernel.getTensor(kernel.getNumTensors() - 1); }
  auto returned() {
    return cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
  }

  AttentionOp attention;
  TileBuilder b;
  bool cutHeads; // whether a launch may cut the features of a head
  tile::KernelOp kernel;
  SmallVector<AttendOp> attends;
  SmallVector<Schedule> schedules;
  bool interleaved = false;
  bool sameHeads = false; // H = Hkv, whatever the call
  int64_t run = 0;        // the block of the local kernels, 0 without
  int64_t maxSplits = 1;  // into how many programs a head can be cut by features
  int64_t partialColumns = 0;
  std::optional<WeightTiles> weights;
  std::optional<ProgramContext> context;
  llvm::DenseMap<Value, Value> outputs; // an attend's output tile in this block
};

/// What one block program can hold.
LogicalResult KernelBuilder::check() {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  sameHeads = signature->sameHeads;
  llvm::append_range(attends, attention.getBody().front().getOps<AttendOp>());
  if (attends.empty())
    return attention.emitError("there is no `attend` in this attention");
  for (AttendOp attend : attends) {
    if (attend.getMask() != attends[0].getMask())
      return attend.emitError("attends of one attention must have the same mask");
    if (attend.getGrouping() != attends[0].getGrouping())
      return attend.emitError("attends of one attention must have the same grouping");
    for (Value operand : attend.getOperands())
      if (dependsOnAttend(operand))
        return attend.emitError("an attend of what another attend computes needs an entry of its "
                                "own: the first one's blocks are not all there yet");
    if (!sequenceTensor(attend.getQuery()))
      return attend.emitError("the query is read from no tensor [B, T, H, d]");
    if (!sequenceTensor(attend.getValue()) && !sequenceTensor(attend.getKey()))
      return attend.emitError("neither key nor value is read from a tensor [B, T, H, d]");
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
    if (schedule.form != ScheduleForm::State && shape.localBlock &&
        shape.localBlock % std::min(schedule.block, shape.localBlock))
      return attend.emitError("without a state the local block must be a multiple of the "
                              "schedule's block, ")
             << schedule.block;
    if (shape.localBlock && run && shape.localBlock != run)
      return attend.emitError("local kernels of one attention must have the same block");
    run = shape.localBlock ? shape.localBlock : run;
    if (schedule.form != ScheduleForm::State && shape.needsState)
      return attend.emitError("the schedule has no state, but one is asked for");
  }
  return success();
}

/// Opens a kernel over the attention's tensors. With `partialRank` it has two more: the sums
/// of programs that share a head, and the three numbers of a launch: this program's part, the
/// number of parts and the position of the first row.
void KernelBuilder::beginKernel(StringRef name, int64_t partialRank) {
  b.setInsertionPoint(attention);
  SmallVector<Attribute> names(attention.getArgNames().begin(), attention.getArgNames().end());
  llvm::append_range(names, attention.getResultNames());
  auto tensors = llvm::to_vector(attention.getBody().getArgumentTypes());
  int64_t inputs = tensors.size();
  for (auto type : attention.getResultTypes().getAsValueRange<TypeAttr>())
    tensors.push_back(type);
  if (partialRank) {
    SmallVector<int64_t> shape(partialRank, ShapedType::kDynamic);
    tensors.push_back(RankedTensorType::get(shape, b.getF32Type()));
    tensors.push_back(RankedTensorType::get({3}, b.getI64Type()));
    names.push_back(b.getStringAttr("partial"));
    names.push_back(b.getStringAttr("launch"));
  }
  kernel = tile::KernelOp::create(b, name, b.getArrayAttr(names), inputs);
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : tensors)
    body->addArgument(memrefOf(cast<RankedTensorType>(type)), b.getLoc());
  for (int i = 0; i < 4; ++i)
    body->addArgument(b.getIndexType(), b.getLoc());
  b.setInsertionPointToEnd(body);

  auto tensorIndex = [](Value tensor) { return cast<BlockArgument>(tensor).getArgNumber(); };
  Value query = sequenceTensor(attends[0].getQuery());
  Value key = sequenceTensor(attends[0].getValue());
  if (!key)
    key = sequenceTensor(attends[0].getKey());
  kernel->setAttr("query_tensor", b.getI64IntegerAttr(tensorIndex(query)));
  kernel->setAttr("key_tensor", b.getI64IntegerAttr(tensorIndex(key)));
  interleaved = attends[0].getGrouping() == Grouping::Interleaved;
  kernel->setAttr("grouping", b.getStringAttr(interleaved ? "interleaved" : "block"));

  weights.emplace(kernel, attention);
  Value one = b.index(1);
  Value queries = memref::DimOp::create(b, kernel.getTensor(tensorIndex(query)), one);
  Value keys = memref::DimOp::create(b, kernel.getTensor(tensorIndex(key)), one);
  int64_t blockLength = INT64_MAX;
  for (const Schedule &schedule : schedules)
    blockLength = std::min(blockLength, schedule.block);
  // One head for both sides makes what they read and compute alike one value.
  Value kvHead = sameHeads ? kernel.getHead() : kernel.getKvHead();
  context.emplace(ProgramContext{kernel, *weights, kernel.getBatch(), kernel.getHead(), kvHead,
                                 kernel.getGroup(), queries, keys,
                                 run ? std::min(blockLength, run) : blockLength, run,
                                 attends[0].getMask() == Mask::Causal, std::nullopt});
  if (partialRank) {
    auto number = [&](int64_t i) -> Value {
      Value value = memref::LoadOp::create(b, launchTensor(), b.index(i));
      return arith::IndexCastOp::create(b, b.getIndexType(), value);
    };
    context->split = SplitContext{number(0), number(1), number(2)};
  }
}

/// Whether a head's features can be cut, and what a part stores for each position.
void KernelBuilder::cutByFeatures() {
  maxSplits = INT64_MAX;
  partialColumns = 0;
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    int64_t features = AttentionShape::of(attend).features;
    bool canSplit = schedule.form != ScheduleForm::Quadratic && attend.getMask() == Mask::Causal;
    maxSplits = std::min(maxSplits, canSplit ? features / schedule.featureBlock : 1);
    partialColumns += cast<FeatureType>(attend.getValue().getType()).getWidth() +
                      (attend.getNormalizer().getKind() != NormalizerKind::None);
  }
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
  Value tile = outputs.lookup(vector);
  if (!tile)
    tile = queries.natural(vector);
  tile::StoreOp::create(b, tile, tensor,
                        ValueRange{context->batch, place.position, context->head, column},
                        place.valid, /*row_dim=*/1, /*col_dim=*/3);
}

VectorProgram KernelBuilder::queryProgram(TileBuilder &b, const BlockPlace &place) {
  return VectorProgram(b, *weights, context->batch, context->head, place.position,
                       context->globalPosition(b, place.position), place.valid, context->block);
}

void KernelBuilder::storeResults(TileBuilder &b, MutableArrayRef<AttendProgram> programs,
                                 ArrayRef<AttendProgram::Sums> sums, VectorProgram &queries,
                                 const BlockPlace &place) {
  outputs.clear();
  for (auto [attend, program, sum] : llvm::zip(attends, programs, sums))
    outputs[attend.getOutput()] = program.normalize(b, sum, place);
  queries.setBuilder(b);
  for (auto [i, result] : llvm::enumerate(returned())) {
    if (!isa<FeatureType>(result.getType()))
      continue;
    if (!outputs.count(result) && !result.getDefiningOp<ConcatOp>())
      for (AttendOp attend : attends)
        queries.bind(attend.getOutput(), b.transpose(outputs[attend.getOutput()]));
    storeResult(b, queries, result, resultTensor(i), b.index(0), place);
  }
}

/// N of each attend and its Z beside it.
void KernelBuilder::storePartial(TileBuilder &b, MutableArrayRef<AttendProgram> programs,
                                 ArrayRef<AttendProgram::Sums> sums, const BlockPlace &place) {
  int64_t column = 0;
  auto store = [&](Value tile) {
    int64_t width = b.typeOf(tile).getColumns();
    tile::StoreOp::create(
        b, tile, partialTensor(),
        ValueRange{context->batch, place.position, context->head, b.index(column)}, place.valid,
        /*row_dim=*/1, /*col_dim=*/width == 1 ? -1 : 3);
    column += width;
  };
  for (auto [program, sum] : llvm::zip(programs, sums)) {
    store(sum.numerator);
    if (sum.denominator)
      store(sum.denominator);
  }
}

void KernelBuilder::block(TileBuilder &b, MutableArrayRef<AttendProgram> programs,
                          const BlockPlace &place) {
  VectorProgram queries = queryProgram(b, place);
  SmallVector<AttendProgram::Sums> sums;
  for (AttendProgram &program : programs)
    sums.push_back(program.block(b, queries, place));
  if (!context->split)
    return storeResults(b, programs, sums, queries, place);
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

std::vector<AttendProgram> KernelBuilder::makePrograms(bool quadratic) {
  std::vector<AttendProgram> programs;
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    Schedule chosen = schedule;
    if (chosen.form == ScheduleForm::Both)
      chosen.form = quadratic ? ScheduleForm::Quadratic : ScheduleForm::State;
    programs.emplace_back(attend, chosen, *context);
  }
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

/// The loops over blocks, in one of the two forms where there is a choice.
void KernelBuilder::program(TileBuilder &b, bool quadratic) {
  // The quadratic form has no features to cut.
  std::optional<SplitContext> split = context->split;
  if (quadratic)
    context->split.reset();
  std::vector<AttendProgram> programs = makePrograms(quadratic);
  for (AttendProgram &program : programs)
    program.begin(b);

  Value zero = b.index(0);
  auto perBlock = [&](TileBuilder &b, const BlockPlace &place) { block(b, programs, place); };
  if (context->run <= context->block) {
    forBlocks(b, zero, context->queries, context->block, perBlock);
  } else {
    Value length = b.index(context->run);
    scf::ForOp::create(b, zero, context->queries, length, ValueRange(),
                       [&](OpBuilder &builder, Location loc, Value start, ValueRange) {
                         TileBuilder inside(loc, builder);
                         Value end = arith::MinSIOp::create(inside, inside.addIndex(start, length),
                                                            context->queries);
                         forBlocks(inside, start, end, context->block, perBlock);
                         forBlocks(inside, start, end, context->block,
                                   [&](TileBuilder &b, const BlockPlace &place) {
                                     for (AttendProgram &program : programs)
                                       if (program.updatesAfterRun())
                                         program.update(b, place);
                                   });
                         scf::YieldOp::create(builder, loc);
                       });
  }

  for (auto [attend, program] : llvm::zip(attends, programs)) {
    SmallVector<Value> states;
    for (Value state : attend.getFinalStates())
      for (auto [i, result] : llvm::enumerate(returned()))
        if (result == state)
          states.push_back(resultTensor(i));
    program.finish(b, states, interleaved);
  }
  context->split = split;
}

/// The kernel that adds the parts of a head, normalizes and writes the results. Its programs
/// take turns, block by block.
void KernelBuilder::combine() {
  beginKernel((attention.getSymName() + "__combine").str(), /*partialRank=*/5);
  std::vector<AttendProgram> programs = makePrograms(/*quadratic=*/false);
  Value parts = memref::DimOp::create(b, partialTensor(), b.index(0));
  Value length = b.index(context->block);
  Value first = arith::MulIOp::create(b, context->split->split, length);
  Value stride = arith::MulIOp::create(b, context->split->splits, length);
  scf::ForOp::create(
      b, first, context->queries, stride, ValueRange(),
      [&](OpBuilder &builder, Location loc, Value position, ValueRange) {
        TileBuilder b(loc, builder);
        Value left = arith::SubIOp::create(b, context->queries, position);
        BlockPlace place{position, arith::MinSIOp::create(b, left, length), position};
        SmallVector<Value> carried;
        SmallVector<AttendProgram::Sums> sums;
        for (AttendProgram &program : programs) {
          carried.push_back(b.constant(context->block, program.getValueWidth(), 0));
          if (program.normalized())
            carried.push_back(b.constant(context->block, 1, 0));
        }
        auto loop = scf::ForOp::create(
            b, b.index(0), parts, b.index(1), carried,
            [&](OpBuilder &builder, Location loc, Value part, ValueRange in) {
              TileBuilder b(loc, builder);
              SmallVector<Value> out;
              int64_t column = 0;
              for (Value sum : in) {
                int64_t width = b.typeOf(sum).getColumns();
                Value tile = tile::LoadOp::create(
                    b, b.typeOf(sum), partialTensor(),
                    ValueRange{part, context->batch, position, context->head, b.index(column)},
                    place.valid, /*row_dim=*/2, /*col_dim=*/width == 1 ? -1 : 4,
                    /*transposed=*/false);
                out.push_back(b.add(sum, tile));
                column += width;
              }
              scf::YieldOp::create(builder, loc, out);
            });
        size_t next = 0;
        for (AttendProgram &program : programs) {
          AttendProgram::Sums &sum = sums.emplace_back();
          sum.numerator = loop.getResult(next++);
          if (program.normalized())
            sum.denominator = loop.getResult(next++);
        }
        VectorProgram queries = queryProgram(b, place);
        storeResults(b, programs, sums, queries, place);
        scf::YieldOp::create(builder, loc);
      });
}

LogicalResult KernelBuilder::build() {
  if (failed(check()))
    return failure();
  if (cutHeads)
    cutByFeatures();
  if (maxSplits > 1)
    combine();
  beginKernel(attention.getSymName(), maxSplits > 1 ? 4 : 0);
  int64_t below = 0;
  for (const Schedule &schedule : schedules)
    if (schedule.form == ScheduleForm::Both)
      below = below ? std::min(below, schedule.quadraticBelow) : schedule.quadraticBelow;
  if (maxSplits > 1) {
    // What a launcher must know: at most this many parts, for no fewer positions than where
    // the quadratic form ends, cut at multiples of `segment`.
    kernel->setAttr("polyattn.max_splits", b.getI64IntegerAttr(maxSplits));
    kernel->setAttr("polyattn.partial_columns", b.getI64IntegerAttr(partialColumns));
    kernel->setAttr("polyattn.segment",
                    b.getI64IntegerAttr(std::max(context->block, context->run)));
    kernel->setAttr("polyattn.split_from", b.getI64IntegerAttr(below));
  }
  if (!below) {
    program(b, /*quadratic=*/false);
  } else {
    Value isShort =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, context->keys, b.index(below));
    if (context->split) {
      Value isFirst =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, context->split->base, b.index(0));
      Value alone =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, context->split->splits, b.index(1));
      isShort = arith::AndIOp::create(b, isShort, arith::AndIOp::create(b, isFirst, alone));
    }
    auto branch = [&](bool quadratic) {
      return [this, quadratic](OpBuilder &builder, Location loc) {
        TileBuilder inside(loc, builder);
        program(inside, quadratic);
        scf::YieldOp::create(builder, loc);
      };
    };
    scf::IfOp::create(b, isShort, branch(true), branch(false));
  }
  attention.erase();
  return success();
}

struct ConvertPolyAttnToTile : polyattn::impl::ConvertPolyAttnToTileBase<ConvertPolyAttnToTile> {
  using ConvertPolyAttnToTileBase::ConvertPolyAttnToTileBase;

  void runOnOperation() override {
    for (AttentionOp attention : llvm::make_early_inc_range(getOperation().getOps<AttentionOp>())) {
      WalkResult applied = attention.walk([](ApplyOp apply) {
        apply.emitError("feature maps must be inlined first (--polyattn-inline-maps)");
        return WalkResult::interrupt();
      });
      if (applied.wasInterrupted() || failed(KernelBuilder(attention, cutHeads).build()))
        return signalPassFailure();
    }
    for (FeatureMapOp map : llvm::make_early_inc_range(getOperation().getOps<FeatureMapOp>()))
      map.erase();
  }
};

} // namespace
